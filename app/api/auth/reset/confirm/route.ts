import { confirmReset } from "@/lib/accounts/password-reset";
import { ConfirmReset, PasswordReset } from "@/lib/accounts/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/reset/confirm", {
  POST: endpoint({
    summary: "Confirm a password reset",
    body: ConfirmReset,
    errors: ["invalid_or_expired_token", "unauthenticated", "rate_limited", "overloaded"],
    responses: { 200: PasswordReset },
    handle: async ({ ctx, body, caller }) => {
      const linked = await confirmReset(ctx, body, caller);
      const identities = linked.map(({ provider, createdAt }) => ({ provider, linkedAt: createdAt }));
      return { status: "password_reset", identities };
    },
  }),
});
