import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { keyIdOf, parseMinisignature } from "../signatures";

/** The sample key: PKCS #8 around 32 bytes (RFC 8410, 7). Anyone can derive it, so it proves nothing. */
const SEED = createHash("sha256").update("homeport sample releases").digest();
const PRIVATE_KEY = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), SEED]),
  format: "der",
  type: "pkcs8",
});
const RAW_PUBLIC_KEY = createPublicKey(PRIVATE_KEY).export({ format: "der", type: "spki" }).subarray(-32);
const KEY_ID = SEED.subarray(0, 8);

const PUBLIC_KEY_LINE = Buffer.concat([Buffer.from("Ed"), KEY_ID, RAW_PUBLIC_KEY]).toString("base64");
const SAMPLE_KEY_ID = keyIdOf(PUBLIC_KEY_LINE);

/** The public key as a minisign .pub file. */
export const SAMPLE_PUBLIC_KEY = `untrusted comment: public key of Homeport's sample releases
${PUBLIC_KEY_LINE}
`;

/** Whether a minisign signature names the sample key: nothing that anyone could have signed is a real release. */
export function isSampleSignature(minisign: string | undefined): boolean {
  return minisign !== undefined && parseMinisignature(minisign).keyId === SAMPLE_KEY_ID;
}

/** A prehashed minisign signature file ("Signature format") in base64, as Tauri's CLI writes it. */
export function signForTauri(bytes: Uint8Array, trustedComment: string): string {
  const signature = sign(null, createHash("blake2b512").update(bytes).digest(), PRIVATE_KEY);
  const global = sign(null, Buffer.concat([signature, Buffer.from(trustedComment)]), PRIVATE_KEY);
  const text = `untrusted comment: signature from the key of Homeport's sample releases
${Buffer.concat([Buffer.from("ED"), KEY_ID, signature]).toString("base64")}
trusted comment: ${trustedComment}
${global.toString("base64")}
`;
  return Buffer.from(text).toString("base64");
}

/** An Ed25519 signature of the file in base64, as Sparkle's `sign_update` prints it. */
export function signForSparkle(bytes: Uint8Array): string {
  return sign(null, bytes, PRIVATE_KEY).toString("base64");
}
