import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { keyIdOf, parseMinisignature } from "../signatures";

/**
 * The sample's key, which everybody can make from this text: it shows what signed releases look like and proves
 * nothing. RFC 8410, 7: an Ed25519 private key is PKCS #8 around 32 bytes.
 */
const SEED = createHash("sha256").update("homeport sample releases").digest();
const PRIVATE_KEY = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), SEED]),
  format: "der",
  type: "pkcs8",
});
const RAW_PUBLIC_KEY = createPublicKey(PRIVATE_KEY).export({ format: "der", type: "spki" }).subarray(-32);
const KEY_ID = SEED.subarray(0, 8);

const PUBLIC_LINE = Buffer.concat([Buffer.from("Ed"), KEY_ID, RAW_PUBLIC_KEY]).toString("base64");
const SAMPLE_KEY_ID = keyIdOf(PUBLIC_LINE);

/** The key's public half, as minisign keeps it in a file. */
export const SAMPLE_PUBLIC_KEY = `untrusted comment: public key of Homeport's sample releases
${PUBLIC_LINE}
`;

/**
 * Whether a minisign signature names the sample's key. Earlier builds did not mark their samples otherwise, and nothing
 * that is signed by a key which everybody can make is for real users.
 */
export function isSampleSignature(minisign: string | undefined): boolean {
  return minisign !== undefined && parseMinisignature(minisign).keyId === SAMPLE_KEY_ID;
}

/** A minisign signature file ("Signature format", prehashed), in base64 as Tauri's CLI writes it. */
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

/** What Sparkle's `sign_update` prints: the Ed25519 signature of the file itself, in base64. */
export function signForSparkle(bytes: Uint8Array): string {
  return sign(null, bytes, PRIVATE_KEY).toString("base64");
}
