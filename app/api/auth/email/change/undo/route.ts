import { EmailChangeToken, EmailRestored } from "@/lib/accounts/email-change/schema";
import { undoEmailChange } from "@/lib/accounts/email-change/undo";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/email/change/undo", {
  POST: endpoint({
    summary: "Undo a change of email",
    body: EmailChangeToken,
    errors: ["invalid_or_expired_token", "email_taken", "unauthenticated", "rate_limited"],
    responses: { 200: EmailRestored },
    handle: async ({ ctx, caller, body }) => {
      const linked = await undoEmailChange(ctx, body.token, caller);
      const identities = linked.map(({ provider, createdAt }) => ({ provider, linkedAt: createdAt }));
      return { status: "email_restored", identities };
    },
  }),
});
