import { z } from "zod";
import { cancelEmailChange } from "@/lib/accounts/email-change/pending";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/cancel-email", {
  summary: "Cancel the pending change of the email",
  page: "/account",
  session: true,
  body: z.object({}),
  handle: async ({ ctx, principal, caller }) => {
    await cancelEmailChange(ctx, principal.account.id, caller);
    return { to: "/account?done=email_change_canceled" };
  },
});
