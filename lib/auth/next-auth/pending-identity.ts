import { z } from "zod";
import type { Context } from "../../context";
import { parseCookies, pendingIdentityCookieName, setCookie } from "../cookie";
import { decryptToken, encryptToken } from "../keys/encrypted-token";
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
export async function rememberIdentity(config: Config, now: Date, { provider, issuer, subject }: PendingIdentity) {
  const name = pendingIdentityCookieName(config);
  const token = { provider, issuer, subject };
  const value = await encryptToken(config.secrets, token, { purpose: name, ttlSeconds: TTL_SECONDS });
  return setCookie(config, name, value, new Date(now.getTime() + TTL_SECONDS * 1000));
}

/** The identity with which this browser signed in; undefined if there is none. */
export async function recallIdentity(
  config: Config,
  cookieHeader: string | null,
): Promise<PendingIdentity | undefined> {
  const name = pendingIdentityCookieName(config);
  const value = parseCookies(cookieHeader)[name];
  if (!value) return undefined;
  const claims = await decryptToken(config.secrets, value, name);
  const parsed = PendingIdentity.safeParse(claims);
  return parsed.success ? parsed.data : undefined;
}
