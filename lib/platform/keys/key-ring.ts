import { hkdfSync } from "node:crypto";
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

/** The secret with an id; undefined if the ring does not have it. */
export function findSecret(secrets: Secrets, id: string): string | undefined {
  return secrets.find((secret) => secretId(secret) === id);
}
