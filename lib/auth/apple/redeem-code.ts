import { decodeJwt } from "jose";
import { z } from "zod";
import { fetchProviderMetadata } from "../oauth/provider-metadata";
import { type AppleDeps, postToApple } from "./request";

const Tokens = z.object({ refresh_token: z.string().min(1).max(4096), id_token: z.string() });

/**
 * Exchanges the authorization code that Apple gave a native app for Apple's refresh token (Sign in with Apple REST API,
 * "Generate and validate tokens"). `clientId` is the app's bundle id. Undefined if no key is configured: a client secret
 * that was made for the web is not valid for an app.
 * @throws Error if Apple refuses the code or does not respond, or if the code is another person's
 */
export async function redeemAppleCode(
  deps: AppleDeps,
  code: string,
  { clientId, subject }: { clientId: string; subject: string },
): Promise<string | undefined> {
  const { AUTH_APPLE_ISSUER, AUTH_APPLE_SECRET } = deps.config;
  if (!AUTH_APPLE_SECRET?.startsWith("-----BEGIN")) return undefined;
  const { token_endpoint: url } = await fetchProviderMetadata(AUTH_APPLE_ISSUER);
  const response = await postToApple(deps, url, clientId, { code, grant_type: "authorization_code" });
  const tokens = Tokens.parse(await response.json());
  // Apple itself sent this ID token: its signature need not be verified (OpenID Connect Core 1.0, 3.1.3.7, step 6).
  if (decodeJwt(tokens.id_token).sub !== subject) throw new Error("The code belongs to another person");
  return tokens.refresh_token;
}
