import { isUuid } from "../../platform/db/ids";
import { decryptToken, encryptToken } from "../../platform/keys/encrypted-token";
import type { Secrets } from "../../platform/keys/key-ring";

/** The claims of a session token: account id, session id, and the account's epoch when the token was issued. */
export type Claims = { sub: string; sid: string; epoch: number };

const PURPOSE = "";

type Decoded = { claims: Claims; expiresAtMs: number };

/** How many tokens stay decoded: a few MB. */
const MAX_DECODED = 5_000;
/**
 * Tokens that were decrypted, by the secrets, oldest first. A client sends its token with every request, and decryption
 * takes longer than most other steps of a request. Whether the session is live is in its row, which is read each time.
 */
const decodedTokens = new WeakMap<Secrets, Map<string, Decoded>>();

/** Encodes a session token. next-auth's own function derives the key for each call, which takes four times as long. */
export function encodeToken(claims: Claims, secrets: Secrets, ttlSeconds: number): Promise<string> {
  return encryptToken(secrets, claims, { purpose: PURPOSE, ttlSeconds });
}

/** Decodes a session token; null if it is invalid or expired. */
export async function decodeToken(token: string, secrets: Secrets): Promise<Claims | null> {
  const decoded = decodedTokens.get(secrets) ?? new Map<string, Decoded>();
  decodedTokens.set(secrets, decoded);
  const known = decoded.get(token);
  if (known && known.expiresAtMs > Date.now()) return known.claims;
  const payload = ((await decryptToken(secrets, token, PURPOSE)) ?? {}) as Partial<Claims & { exp: number }>;
  const { sub, sid, epoch, exp = 0 } = payload;
  if (typeof sub !== "string" || typeof sid !== "string" || typeof epoch !== "number") return null;
  if (!isUuid(sub) || !isUuid(sid)) return null;
  const claims = { sub, sid, epoch };
  decoded.set(token, { claims, expiresAtMs: exp * 1000 });
  const [oldest] = decoded.keys();
  if (decoded.size > MAX_DECODED && oldest !== undefined) decoded.delete(oldest);
  return claims;
}
