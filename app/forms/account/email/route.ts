import { requestEmailChange } from "@/lib/accounts/email-change/request";
import { RequestEmailChange } from "@/lib/accounts/email-change/schema";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/email", {
  summary: "Request a change of the email",
  page: "/account/email",
  session: true,
  body: RequestEmailChange,
  keptFields: ["email"],
  handle: async ({ ctx, body, principal, caller }) => {
    await requestEmailChange(ctx, principal, body, caller);
    return { to: "/account?done=email_change_requested" };
  },
});
