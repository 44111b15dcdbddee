import { signInWithPasskey } from "@/lib/accounts/passkeys/sign-in-with-passkey";
import { Auth, PasskeyLogin } from "@/lib/accounts/schema";
import { chooseTransport, sessionResponse } from "@/lib/auth/sessions/session-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/passkeys/sign-in", {
  POST: endpoint({
    summary: "Sign in with a passkey",
    body: PasskeyLogin,
    limit: "passkeyByIp",
    errors: ["passkey_invalid", "invalid_credentials", "account_disabled", "email_not_verified", "origin_not_allowed"],
    responses: { 200: Auth },
    handle: async ({ ctx, request, body, caller }) => {
      const transport = chooseTransport(request, body.transport, ctx);
      return sessionResponse(200, await signInWithPasskey(ctx, body, transport, caller), request, ctx);
    },
  }),
});
