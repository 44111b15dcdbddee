import { createHash, randomBytes } from "node:crypto";

/** A new authorization code or device code: 256 random bits. */
export function newCode(): string {
  return randomBytes(32).toString("base64url");
}

/** The base64url of a SHA-256: a code as it is stored, and a code verifier's challenge (RFC 7636, section 4.6). */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
