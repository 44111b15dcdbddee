import { z } from "zod";
import type { Context } from "../../context";
import { pendingIdentityCookieName } from "../../platform/http/cookies/cookies";
import { readEncryptedCookie, setEncryptedCookie } from "../../platform/http/cookies/encrypted-cookie";
import { VERIFICATION_TTL_HOURS } from "../verification/email-verification";

type Config = Context["config"];
/** An identity that signed in to an account with an unverified email. */
const PendingIdentity = z.object({ provider: z.string(), issuer: z.string(), subject: z.string() });
export type PendingIdentity = z.infer<typeof PendingIdentity>;

const TTL_SECONDS = VERIFICATION_TTL_HOURS * 60 * 60;

/**
 * The Set-Cookie header that stores the identity with which a browser signed in before the email was verified. With the
 * emailed token it proves both the identity and the email. It is encrypted, so only this service can create it.
 */
export async function setPendingIdentityCookie(
  config: Config,
  now: Date,
  { provider, issuer, subject }: PendingIdentity,
) {
  const name = pendingIdentityCookieName(config);
  return setEncryptedCookie(config, now, { name, claims: { provider, issuer, subject }, ttlSeconds: TTL_SECONDS });
}

/** The identity with which this browser signed in; undefined if there is none. */
export async function readPendingIdentityCookie(
  config: Config,
  cookieHeader: string | null,
): Promise<PendingIdentity | undefined> {
  const claims = await readEncryptedCookie(config, cookieHeader, pendingIdentityCookieName(config));
  const parsed = PendingIdentity.safeParse(claims);
  return parsed.success ? parsed.data : undefined;
}
