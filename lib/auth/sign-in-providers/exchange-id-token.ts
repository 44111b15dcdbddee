import { decodeJwt } from "jose";
import { z } from "zod";
import type { Context } from "../../context";
import { isAppError } from "../../errors";
import { networkOf } from "../../platform/audit/security-events";
import type { Caller } from "../../principal";
import { findClient } from "../authorization-server/clients";
import { requireVerifiedEmail } from "../email-verification";
import { completeSignIn, secondFactorRequired } from "../second-factor/complete-sign-in";
import { BY_PROVIDER } from "../sessions/authentication";
import { postToApple } from "./apple-request";
import { storeAppleToken } from "./apple-tokens";
import { linkOrCreateAccount } from "./link-or-create-account";
import { type ProviderIdentity, parseDisplayName } from "./profile";
import { fetchProviderMetadata } from "./provider-keys";
import { invalid, type VerifiedIdToken, verifyIdToken } from "./verify-id-token";

type Deps = Pick<
  Context,
  "config" | "db" | "dbNow" | "emails" | "limits" | "log" | "now" | "removeDevices" | "webhooks"
>;

const Tokens = z.object({ refresh_token: z.string().min(1).max(4096), id_token: z.string() });

/**
 * Exchanges the authorization code that Apple gave a native app for Apple's refresh token (Sign in with Apple REST API,
 * "Generate and validate tokens"). `clientId` is the app's bundle id. Undefined if no key is configured: a client secret
 * that was made for the web is not valid for an app.
 * @throws Error if Apple refuses the code or does not respond, or if the code is another person's
 */
async function redeemAppleCode(deps: Pick<Context, "config" | "now">, code: string, clientId: string, subject: string) {
  const { AUTH_APPLE_ISSUER, AUTH_APPLE_SECRET } = deps.config;
  if (!AUTH_APPLE_SECRET?.startsWith("-----BEGIN")) return undefined;
  const { token_endpoint: url } = await fetchProviderMetadata(AUTH_APPLE_ISSUER);
  if (url === undefined) throw new Error("Apple's metadata names no token endpoint");
  const response = await postToApple(deps, url, clientId, { code, grant_type: "authorization_code" });
  const tokens = Tokens.parse(await response.json());
  // Apple itself sent this ID token: its signature need not be verified (OpenID Connect Core 1.0, 3.1.3.7, step 6).
  if (decodeJwt(tokens.id_token).sub !== subject) throw new Error("The code belongs to another person");
  return tokens.refresh_token;
}

/** Apple sends `name` only to the app, and only once. `authorizationCode` is Apple's. */
type IdTokenExchange = { clientId: string; idToken: string; nonce: string; name?: string; authorizationCode?: string };

/**
 * Exchanges the ID token that Apple or Google issued to a native app for a session. The account is chosen as on the web.
 * A token works once.
 * @throws AppError second_factor_required with a challenge; invalid_client, invalid_id_token, provider_unavailable,
 *   identity_unverified, identity_without_email, email_not_verified, account_disabled; rate_limited after many invalid
 *   tokens
 */
export async function exchangeIdToken(ctx: Deps, given: IdTokenExchange, caller: Caller) {
  const { clientId, idToken, nonce, name, authorizationCode } = given;
  const client = findClient(ctx.config, clientId);
  const { identity, audience } = await acceptToken(ctx, idToken, nonce, caller);
  const named = { ...identity, name: identity.name ?? parseDisplayName(name) };
  const account = await linkOrCreateAccount(ctx, named, undefined, caller);
  if (authorizationCode) await redeemAndStoreAppleToken(ctx, identity, authorizationCode, audience);
  await requireVerifiedEmail(ctx, account, caller);
  const options = { transport: "token", deviceName: client.name } as const;
  const outcome = await completeSignIn(ctx, account, BY_PROVIDER, options, caller).catch((error: unknown) => {
    const isGone = isAppError(error) && error.code === "invalid_credentials";
    throw isGone ? invalid("The account was deleted or its sessions were ended meanwhile", error) : error;
  });
  if ("challenge" in outcome) throw secondFactorRequired(outcome);
  return outcome;
}

/** Stores the refresh token that Apple issues for a code. A failure does not stop the sign-in: the next one has a code. */
async function redeemAndStoreAppleToken(ctx: Deps, identity: ProviderIdentity, code: string, appId: string) {
  if (identity.provider !== "apple") return;
  try {
    await storeAppleToken(ctx, identity, appId, await redeemAppleCode(ctx, code, appId, identity.subject));
  } catch (error) {
    ctx.log.warn({ err: error }, "Apple's refresh token was not stored");
  }
}

/** Verifies a token and records its use. Logs why one is refused, and counts it against the caller. */
async function acceptToken(ctx: Deps, idToken: string, nonce: string, caller: Caller): Promise<VerifiedIdToken> {
  try {
    const verified = await verifyIdToken(ctx, idToken, nonce);
    await recordUse(ctx, verified);
    return verified;
  } catch (error) {
    if (!isAppError(error) || error.code !== "invalid_id_token") throw error;
    ctx.log.warn({ reason: error.message, network: networkOf(caller.ip) }, "an ID token was refused");
    await ctx.limits.consume("oauthTokenByIp", caller.ip);
    throw error;
  }
}

/** Of concurrent calls with one token, one records its use. @throws AppError invalid_id_token */
async function recordUse({ db }: Pick<Deps, "db">, { hash, expiresAt }: VerifiedIdToken): Promise<void> {
  const { count } = await db.usedIdToken.createMany({ data: { hash, expiresAt }, skipDuplicates: true });
  if (count === 0) throw invalid("The token was used before");
}
