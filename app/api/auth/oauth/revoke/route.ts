import { revokeToken } from "@/lib/auth/oauth-server/revoke";
import { OAuthError, RevocationRequest } from "@/lib/auth/oauth-server/schema";
import { endpoint } from "@/lib/http/endpoint";
import { writeOAuthError } from "@/lib/http/oauth-error";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/oauth/revoke", {
  POST: endpoint({
    summary: "Revoke an access token",
    reads: "form",
    body: RevocationRequest,
    responses: { 200: null, 400: OAuthError },
    handle: ({ ctx, body, caller }) => revokeToken(ctx, body.client_id, body.token, caller),
    writeError: writeOAuthError,
  }),
});
