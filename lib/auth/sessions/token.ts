import { hkdfSync } from "node:crypto";
import { jwtDecrypt } from "jose";
import { encode } from "next-auth/jwt";
import { isUuid } from "../../db/ids";

/** The claims of a session token: account id, session id, and the account's epoch when the token was issued. */
export type Claims = { sub: string; sid: string; epoch: number };

/** next-auth's key derivation and encryption. Tokens with other algorithms are refused. */
const KEY_INFO = "NextAuth.js Generated Encryption Key";
const ALGORITHMS = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256GCM"] };
const CLOCK_TOLERANCE_SECONDS = 15;

/** Encodes a session token, as next-auth's JWE (dir, A256GCM). */
export function encodeToken(claims: Claims, secret: string, ttlSeconds: number): Promise<string> {
  return encode({ token: claims, secret, maxAge: ttlSeconds });
}

/**
 * Decodes a session token; null if it is invalid or expired. next-auth's own decode derives the key for each call, which
 * takes four times as long as the rest.
 */
export async function decodeToken(token: string, secret: string): Promise<Claims | null> {
  try {
    const options = { ...ALGORITHMS, clockTolerance: CLOCK_TOLERANCE_SECONDS };
    const { payload } = await jwtDecrypt(token, keyOf(secret), options);
    const { sub, sid, epoch } = payload as Partial<Claims>;
    if (typeof sub !== "string" || typeof sid !== "string" || typeof epoch !== "number") return null;
    return isUuid(sub) && isUuid(sid) ? { sub, sid, epoch } : null;
  } catch {
    return null; // another secret, expired, or not a JWE
  }
}

/** The key of the process's secret. */
let derived: { secret: string; key: Uint8Array } | undefined;

function keyOf(secret: string): Uint8Array {
  if (derived?.secret !== secret) {
    derived = { secret, key: new Uint8Array(hkdfSync("sha256", secret, "", KEY_INFO, 32)) };
  }
  return derived.key;
}
