import { confirmEmailChange } from "@/lib/accounts/email-change/confirm";
import { EmailChanged, EmailChangeToken } from "@/lib/accounts/email-change/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/email/change/confirm", {
  POST: endpoint({
    summary: "Confirm a change of the caller's email",
    auth: "account",
    body: EmailChangeToken,
    errors: ["invalid_or_expired_token", "email_taken", "rate_limited"],
    responses: { 200: EmailChanged },
    handle: async ({ ctx, principal, caller, body }) => ({
      status: "email_changed",
      user: await confirmEmailChange(ctx, principal, body.token, caller),
    }),
  }),
});
