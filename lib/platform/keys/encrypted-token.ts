import { randomUUID } from "node:crypto";
import { decodeProtectedHeader, EncryptJWT, type JWTPayload, jwtDecrypt } from "jose";
import { deriveKey, findSecret, type Secrets, secretId } from "./key-ring";

/** next-auth's key derivation and encryption. Tokens with other algorithms are refused. */
const KEY_INFO = "NextAuth.js Generated Encryption Key";
const ALGORITHMS = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256GCM"] };
const CLOCK_TOLERANCE_SECONDS = 15;

/**
 * Encrypts claims as next-auth's JWE (dir, A256GCM) with the first secret, whose id is the header's `kid` (RFC 7516,
 * 4.1.6). Each purpose has a key of its own; next-auth calls it the salt. Session tokens have the purpose "".
 */
export function encryptToken(
  secrets: Secrets,
  claims: JWTPayload,
  { purpose, ttlSeconds }: { purpose: string; ttlSeconds: number },
): Promise<string> {
  const [secret] = secrets;
  return new EncryptJWT(claims)
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: secretId(secret) })
    .setIssuedAt()
    .setExpirationTime(`${ttlSeconds} seconds`)
    .setJti(randomUUID())
    .encrypt(keyOf(secret, purpose));
}

/**
 * Decrypts a token with the secret that its `kid` names. Tokens of next-auth and of version 1.0 have none: each secret is
 * tried. Returns null if the token is invalid or expired.
 */
export async function decryptToken(secrets: Secrets, token: string, purpose: string): Promise<JWTPayload | null> {
  for (const secret of candidates(secrets, token)) {
    try {
      const options = { ...ALGORITHMS, clockTolerance: CLOCK_TOLERANCE_SECONDS };
      return (await jwtDecrypt(token, keyOf(secret, purpose), options)).payload;
    } catch {
      // another secret or purpose, expired, or not a JWE
    }
  }
  return null;
}

function candidates(secrets: Secrets, token: string): readonly string[] {
  try {
    const { kid } = decodeProtectedHeader(token);
    if (typeof kid !== "string") return secrets;
    const secret = findSecret(secrets, kid);
    return secret === undefined ? [] : [secret];
  } catch {
    return []; // not a JWE
  }
}

function keyOf(secret: string, purpose: string): Uint8Array {
  return purpose === "" ? deriveKey(secret, KEY_INFO) : deriveKey(secret, `${KEY_INFO} (${purpose})`, purpose);
}
