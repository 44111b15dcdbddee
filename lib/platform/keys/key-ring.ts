import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Context } from "../../context";

/** The secrets of `NEXTAUTH_SECRET`. The first one encrypts; all of them decrypt. */
export type Secrets = Context["config"]["secrets"];

/** Deriving a key takes longer than using it. There are a few for each secret. */
const derived = new Map<string, Uint8Array>();

/** Derives a key of 256 bits from a secret, for one purpose (HKDF with SHA-256, RFC 5869). */
export function deriveKey(secret: string, purpose: string, salt = ""): Uint8Array {
  const name = [salt, purpose, secret].join("\0");
  const key = derived.get(name) ?? new Uint8Array(hkdfSync("sha256", secret, salt, purpose, 32));
  derived.set(name, key);
  return key;
}

/**
 * The id of a secret, by which tokens and stored keys name it. It is derived, so it reveals nothing about the secret.
 */
export function secretId(secret: string): string {
  return Buffer.from(deriveKey(secret, "Homeport key id").subarray(0, 6)).toString("base64url");
}

export function findSecret(secrets: Secrets, id: string): string | undefined {
  return secrets.find((secret) => secretId(secret) === id);
}

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
