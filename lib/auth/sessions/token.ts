import { hkdfSync, randomUUID } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";
import { isUuid } from "../../db/ids";

/** The claims of a session token: account id, session id, and the account's epoch when the token was issued. */
export type Claims = { sub: string; sid: string; epoch: number };

/** next-auth's key derivation and encryption. Tokens with other algorithms are refused. */
const KEY_INFO = "NextAuth.js Generated Encryption Key";
const ALGORITHMS = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256GCM"] };
const CLOCK_TOLERANCE_SECONDS = 15;

/**
 * Encodes a session token, as next-auth's JWE (dir, A256GCM). next-auth's own functions derive the key for each call,
 * which takes four times as long as the rest.
 */
export function encodeToken(claims: Claims, secret: string, ttlSeconds: number): Promise<string> {
  return new EncryptJWT(claims)
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
    .setIssuedAt()
    .setExpirationTime(`${ttlSeconds} seconds`)
    .setJti(randomUUID())
    .encrypt(keyOf(secret));
}

/** Decodes a session token; null if it is invalid or expired. */
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
