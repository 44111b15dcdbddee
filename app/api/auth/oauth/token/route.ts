import { OAuthError, TokenError, TokenRequest, TokenResponse } from "@/lib/auth/oauth-server/schema";
import { issueToken } from "@/lib/auth/oauth-server/token";
import { endpoint } from "@/lib/http/endpoint";
import { writeOAuthError } from "@/lib/http/oauth-error";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/oauth/token", {
  POST: endpoint({
    summary: "Exchange a code for an access token",
    reads: "form",
    body: TokenRequest,
    errors: ["second_factor_required", "rate_limited"],
    responses: { 200: TokenResponse, 400: TokenError, 503: OAuthError },
    handle: ({ ctx, body, caller }) => issueToken(ctx, body, caller),
    writeError: writeOAuthError,
  }),
});
