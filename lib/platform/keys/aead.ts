import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
/** NIST SP 800-38D, section 5.2.1.1: 96 bits, random. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts bytes with AES-256-GCM. `context` is authenticated, not stored. Returns base64url: nonce, ciphertext, tag. */
export function seal(key: Uint8Array, context: string, plaintext: Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]).toString("base64url");
}

/** Decrypts what `seal` returned. @throws Error for another key or context, and for bytes that were changed */
export function open(key: Uint8Array, context: string, sealed: string): Buffer {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error("The encrypted text is too short");
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
