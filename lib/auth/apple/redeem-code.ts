import { z } from "zod";
import type { Context } from "../../context";
import { appleClientSecret } from "../oauth/apple-client-secret";
import { fetchProviderMetadata } from "../oauth/provider-metadata";

const TIMEOUT_MS = 5_000;

const Tokens = z.object({ refresh_token: z.string().min(1).max(4096) });

/**
 * Exchanges the authorization code that Apple gave a native app for Apple's refresh token (Sign in with Apple REST API,
 * "Generate and validate tokens"). `clientId` is the app's bundle id. Undefined if no key is configured: a client secret
 * that was made for the web is not valid for an app.
 * @throws Error if Apple refuses the code or does not respond
 */
export async function redeemAppleCode(
  { config, now }: Pick<Context, "config" | "now">,
  code: string,
  clientId: string,
): Promise<string | undefined> {
  const { AUTH_APPLE_ISSUER, AUTH_APPLE_SECRET } = config;
  if (!AUTH_APPLE_SECRET?.startsWith("-----BEGIN")) return undefined;
  const { token_endpoint } = await fetchProviderMetadata(AUTH_APPLE_ISSUER);
  const response = await fetch(token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      client_secret: appleClientSecret({ ...config, AUTH_APPLE_ID: clientId, AUTH_APPLE_SECRET }, now()),
      code,
    }),
    redirect: "error", // a redirect would send the code to another host
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.ok) return Tokens.parse(await response.json()).refresh_token;
  await response.body?.cancel();
  throw new Error(`Apple responded with status ${response.status}`);
}
