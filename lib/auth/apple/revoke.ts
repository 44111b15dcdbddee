import type { AppleToken } from "./refresh-token";
import { type AppleDeps, postToApple } from "./request";

/**
 * Ends the authorization that a refresh token stands for (Sign in with Apple REST API, "Revoke tokens"; RFC 7009). Can be
 * repeated. @throws Error if Apple does not respond with success
 */
export async function revokeAppleToken(deps: AppleDeps, { clientId, refreshToken }: AppleToken): Promise<void> {
  const parameters = { token: refreshToken, token_type_hint: "refresh_token" };
  const response = await postToApple(deps, `${deps.config.AUTH_APPLE_ISSUER}/auth/revoke`, clientId, parameters);
  await response.body?.cancel();
}
