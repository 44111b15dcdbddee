import { decode, encode } from "next-auth/jwt";

/** What a session token says: the account, the session's row, and the account's epoch when it was issued. */
export type Claims = { sub: string; sid: string; epoch: number };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A session token: next-auth's JWE (dir, A256GCM) over the claims. */
export function encodeToken(claims: Claims, secret: string, ttlSeconds: number): Promise<string> {
  return encode({ token: claims, secret, maxAge: ttlSeconds });
}

/** Decrypts a token. null for anything that is not one of ours, whatever is wrong with it. */
export async function decodeToken(token: string, secret: string): Promise<Claims | null> {
  try {
    const claims = await decode({ token, secret });
    const { sub, sid, epoch } = (claims ?? {}) as Partial<Claims>;
    if (typeof sub !== "string" || typeof sid !== "string" || typeof epoch !== "number") return null;
    return UUID.test(sub) && UUID.test(sid) ? { sub, sid, epoch } : null;
  } catch {
    return null; // another secret, expired, no JWE at all
  }
}
