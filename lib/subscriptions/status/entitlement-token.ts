import { SignJWT } from "jose";
import type { Context } from "../../context";
import { currentSigningKey } from "../../platform/keys/signing-keys";
import type { Entitlement, EntitlementToken, TokenQuery } from "../schema";
import { readSubscriptionStatus } from "./read-status";

type Deps = Parameters<typeof readSubscriptionStatus>[0] & Pick<Context, "config" | "db">;

/** The type keeps other JWTs of this issuer from being taken for one (RFC 8725, section 3.11). */
const TYPE = "entitlements+jwt";

/**
 * Returns the account's active entitlements as a signed JWT (RFC 7519, RFC 8037), which an app verifies offline. With
 * `jkt`, the token is for the holder of that key (RFC 7800, section 3.1; RFC 9449, section 6.1).
 * @throws AppError unavailable
 */
export async function issueEntitlementToken(
  ctx: Deps,
  principal: Parameters<typeof readSubscriptionStatus>[1],
  { audience, jkt }: TokenQuery,
): Promise<EntitlementToken> {
  const { entitlements, checkedAt } = await readSubscriptionStatus(ctx, principal);
  const { BILLING_TOKEN_GRACE_SECONDS: grace, BILLING_TOKEN_TTL_SECONDS: ttl, baseUrl } = ctx.config;
  const issuedAt = toSeconds(checkedAt);
  const expiresAt = issuedAt + ttl;
  const active = entitlements.filter(({ isActive }) => isActive).map((entitlement) => claimOf(entitlement, grace));
  const { kid, key } = await currentSigningKey(ctx);
  const token = await new SignJWT({ entitlements: active, ...(jkt === undefined ? {} : { cnf: { jkt } }) })
    .setProtectedHeader({ alg: "EdDSA", typ: TYPE, kid })
    .setIssuer(baseUrl)
    .setSubject(principal.account.id)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expiresAt)
    .sign(key);
  return { token, expiresAt: new Date(expiresAt * 1000) };
}

/** An entitlement that will renew has a grace, because an app that is offline cannot learn of the renewal. */
function claimOf({ id, productId, expiresAt, willRenew }: Entitlement, graceSeconds: number) {
  return { id, productId, expiresAt: expiresAt && toSeconds(expiresAt) + (willRenew ? graceSeconds : 0) };
}

const toSeconds = (time: Date) => Math.floor(time.getTime() / 1000);
