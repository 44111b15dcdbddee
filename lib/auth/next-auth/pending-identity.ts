import { decode, encode } from "next-auth/jwt";
import { z } from "zod";
import type { Context } from "../../context";
import { parseCookies, pendingIdentityCookieName, setCookie } from "../cookie";
import { VERIFICATION_TTL_HOURS } from "../verification/email-verification";

type Config = Context["config"];
/** An identity whose account has an address that is not verified. */
const PendingIdentity = z.object({ provider: z.string(), issuer: z.string(), subject: z.string() });
export type PendingIdentity = z.infer<typeof PendingIdentity>;

const TTL_SECONDS = VERIFICATION_TTL_HOURS * 60 * 60;

/**
 * The Set-Cookie header that remembers with which identity this browser signed in before its address was verified.
 * Together with the mailed link it proves both. Encrypted, so that nobody but this service says who signed in.
 */
export async function rememberIdentity(config: Config, now: Date, { provider, issuer, subject }: PendingIdentity) {
  const name = pendingIdentityCookieName(config);
  const token = { provider, issuer, subject };
  const value = await encode({ token, secret: config.secret, salt: name, maxAge: TTL_SECONDS });
  return setCookie(config, name, value, new Date(now.getTime() + TTL_SECONDS * 1000));
}

/** The identity with which this browser signed in; undefined where there was none. */
export async function recallIdentity(
  config: Config,
  cookieHeader: string | null,
): Promise<PendingIdentity | undefined> {
  const name = pendingIdentityCookieName(config);
  const value = parseCookies(cookieHeader)[name];
  if (!value) return undefined;
  const claims = await decode({ token: value, secret: config.secret, salt: name }).catch(() => null);
  const parsed = PendingIdentity.safeParse(claims);
  return parsed.success ? parsed.data : undefined;
}
