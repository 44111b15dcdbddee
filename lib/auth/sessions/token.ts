import { hkdfSync } from "node:crypto";
import { jwtDecrypt } from "jose";
import { encode } from "next-auth/jwt";
import { isUuid } from "../../db/ids";

/** What a session token says: the account, the session's row, and the account's epoch when it was issued. */
export type Claims = { sub: string; sid: string; epoch: number };

/** What next-auth derives its key by, and how it encrypts: nothing else is one of our tokens. */
const KEY_INFO = "NextAuth.js Generated Encryption Key";
const ALGORITHMS = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256GCM"] };
const CLOCK_TOLERANCE_SECONDS = 15;

/** A session token: next-auth's JWE (dir, A256GCM) over the claims. */
export function encodeToken(claims: Claims, secret: string, ttlSeconds: number): Promise<string> {
  return encode({ token: claims, secret, maxAge: ttlSeconds });
}

/**
 * Decrypts a token. null for anything that is not one of ours, whatever is wrong with it. next-auth's own decode
 * derives the key anew each time, which costs four times what the rest does.
 */
export async function decodeToken(token: string, secret: string): Promise<Claims | null> {
  try {
    const options = { ...ALGORITHMS, clockTolerance: CLOCK_TOLERANCE_SECONDS };
    const { payload } = await jwtDecrypt(token, keyOf(secret), options);
    const { sub, sid, epoch } = payload as Partial<Claims>;
    if (typeof sub !== "string" || typeof sid !== "string" || typeof epoch !== "number") return null;
    return isUuid(sub) && isUuid(sid) ? { sub, sid, epoch } : null;
  } catch {
    return null; // another secret, expired, no JWE at all
  }
}

/** The key of the one secret that a process has. */
let derived: { secret: string; key: Uint8Array } | undefined;

function keyOf(secret: string): Uint8Array {
  if (derived?.secret !== secret) {
    derived = { secret, key: new Uint8Array(hkdfSync("sha256", secret, "", KEY_INFO, 32)) };
  }
  return derived.key;
}
