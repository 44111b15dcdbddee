import type { Context } from "../../context";
import { appleClientSecret } from "../oauth/apple-client-secret";
import type { AppleToken } from "./refresh-token";

type Deps = Pick<Context, "config" | "now">;

const TIMEOUT_MS = 10_000;

/**
 * Ends the authorization that a refresh token stands for (Sign in with Apple REST API, "Revoke tokens"; RFC 7009). Can be
 * repeated. @throws Error if Apple does not respond with success
 */
export async function revokeAppleToken({ config, now }: Deps, { clientId, refreshToken }: AppleToken): Promise<void> {
  const { AUTH_APPLE_SECRET, AUTH_APPLE_ISSUER } = config;
  if (!AUTH_APPLE_SECRET) throw new Error("AUTH_APPLE_SECRET is not set");
  const response = await fetch(`${AUTH_APPLE_ISSUER}/auth/revoke`, {
    method: "POST",
    body: new URLSearchParams({
      client_id: clientId,
      client_secret: appleClientSecret({ ...config, AUTH_APPLE_ID: clientId, AUTH_APPLE_SECRET }, now()),
      token: refreshToken,
      token_type_hint: "refresh_token",
    }),
    redirect: "error", // a redirect would send the token to another host
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`Apple responded with status ${response.status}`);
}
