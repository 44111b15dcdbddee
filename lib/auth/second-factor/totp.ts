import type { Context } from "../../context";
import { decryptSecret } from "../../platform/keys/stored-secrets";

/** RFC 6238, with the parameters that every authenticator app knows: SHA-1, six digits, 30 seconds. */
const PARAMETERS = { algorithm: "SHA1", digits: 6, period: 30 } as const;
/** RFC 4226, section 4, R6: 160 bits. */
const SECRET_BYTES = 20;
/** How many time steps an app's clock may be ahead or behind (RFC 6238, section 5.2). */
const WINDOW = 1;

/** Loaded at the first use, because few starts need it at once. */
const load = () => import("otpauth");

/** The purpose under which an account's shared secret is encrypted. */
export const totpPurpose = (accountId: string) => `totp:${accountId}`;

/** A new shared secret, in base32. */
export async function newTotpSecret(): Promise<string> {
  const { Secret } = await load();
  return new Secret({ size: SECRET_BYTES }).base32;
}

/** The key URI that an authenticator app reads from a QR code (Google Authenticator, "Key Uri Format"). */
export async function totpUri(secret: string, { issuer, email }: { issuer: string; email: string }): Promise<string> {
  const { TOTP } = await load();
  return new TOTP({ ...PARAMETERS, secret, issuer, label: email }).toString();
}

/** The time step (RFC 6238, section 4.2) of a code, at most one from that of `now`; null for any other code. */
export async function timeStepOf(code: string, secret: string, now: Date): Promise<number | null> {
  if (!/^\d{6}$/.test(code)) return null;
  const { TOTP } = await load();
  const timestamp = now.getTime();
  const totp = new TOTP({ ...PARAMETERS, secret });
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? null : totp.counter({ timestamp }) + delta;
}

/**
 * Uses up a code of an account's authenticator app. Returns whether it is correct: a code of a step that was used, or
 * of an earlier one, is not (RFC 6238, section 5.2). Of concurrent calls with one code, one gets true.
 */
export async function consumeTotpCode(
  ctx: Pick<Context, "config" | "db" | "now">,
  accountId: string,
  code: string,
): Promise<boolean> {
  const where = { accountId, confirmedAt: { not: null } };
  const factor = await ctx.db.totpFactor.findFirst({ where, select: { id: true, secret: true } });
  if (!factor) return false;
  const now = ctx.now();
  const step = await timeStepOf(code, await decryptSecret(ctx, totpPurpose(accountId), factor.secret), now);
  if (step === null) return false;
  const { count } = await ctx.db.totpFactor.updateMany({
    where: { id: factor.id, OR: [{ lastStep: null }, { lastStep: { lt: step } }] },
    data: { lastStep: step, lastUsedAt: now },
  });
  return count === 1;
}
