/** RFC 6238, with the parameters that every authenticator app knows: SHA-1, six digits, 30 seconds. */
const PARAMETERS = { algorithm: "SHA1", digits: 6, period: 30 } as const;
/** RFC 4226, section 4, R6: 160 bits. */
const SECRET_BYTES = 20;
/** How many time steps an app's clock may be ahead or behind (RFC 6238, section 5.2). */
const WINDOW = 1;

/** Loaded at the first use, because few starts need it at once. */
const load = () => import("otpauth");

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

/**
 * The time step (RFC 6238, section 4.2) that a code belongs to: the one of `now`, the one before or the one after. null for
 * any other code.
 */
export async function timeStepOf(code: string, secret: string, now: Date): Promise<number | null> {
  if (!/^\d{6}$/.test(code)) return null;
  const { TOTP } = await load();
  const timestamp = now.getTime();
  const totp = new TOTP({ ...PARAMETERS, secret });
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? null : totp.counter({ timestamp }) + delta;
}
