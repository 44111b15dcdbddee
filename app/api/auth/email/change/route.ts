import { requestEmailChange } from "@/lib/accounts/email-change/request";
import { EmailChangeRequested, RequestEmailChange } from "@/lib/accounts/email-change/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/email/change", {
  POST: endpoint({
    summary: "Request a change of the caller's email",
    auth: "account",
    body: RequestEmailChange,
    errors: ["reauthentication_required", "rate_limited", "overloaded"],
    responses: { 202: EmailChangeRequested },
    handle: async ({ ctx, principal, caller, body }) => ({
      status: "confirmation_required",
      pending: await requestEmailChange(ctx, principal, body, caller),
    }),
  }),
});
