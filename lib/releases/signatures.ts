import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { z } from "zod";

/** A minisign signature (https://jedisct1.github.io/minisign, "Signature format"). */
export type Minisignature = {
  /** `ED`: of the file's BLAKE2b-512 hash. `Ed`, the legacy format: of the file itself. */
  algorithm: string;
  /** Hexadecimal; tells keys apart, and proves nothing. */
  keyId: string;
  signature: Buffer;
  trustedComment: string;
  /** Of the signature and the trusted comment. */
  globalSignature: Buffer;
};

const MINISIGN_FILE =
  /^untrusted comment: .*\r?\n([A-Za-z0-9+/]{99}=)\r?\ntrusted comment: (.*?)\r?\n([A-Za-z0-9+/]{86}==)\s*$/;
const KEY_ID_BYTES = 8;
const UNTRUSTED = "untrusted comment:";

/**
 * A minisign signature file in base64: what `tauri signer sign` writes into a .sig file and Tauri wants in
 * `signature`. The file's own text, as `minisign -S` writes it, is taken too.
 */
export const MinisignSignature = z
  .string()
  .max(4096)
  .transform((text) => (text.startsWith(UNTRUSTED) ? Buffer.from(text).toString("base64") : text.replace(/\s/g, "")))
  .refine((text) => MINISIGN_FILE.test(Buffer.from(text, "base64").toString()), "Must be a minisign signature file");

/** For Sparkle and WinSparkle: what `sign_update -p` prints, 64 bytes in base64. */
export const EdSignature = z.string().regex(/^[A-Za-z0-9+/]{86}==$/, "Must be an EdDSA signature in base64");

/** A minisign public key: the line that begins with RW, the .pub file, or that in base64, as Tauri's `pubkey` is. */
const MinisignPublicKey = z
  .string()
  .max(4096)
  .transform((text) => {
    const decoded = Buffer.from(text, "base64").toString();
    const file = [text, decoded].find((one) => one.startsWith(UNTRUSTED));
    return (file?.split(/\r?\n/)[1] ?? text).trim();
  })
  .refine((text) => /^RW[A-Za-z0-9+/]{54}$/.test(text), "Must be a minisign public key");

/** Sparkle's `SUPublicEDKey`: what `generate_keys -p` prints, 32 bytes in base64. */
const EdPublicKey = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9+/]{43}=$/, "Must be an EdDSA public key in base64");

/** The public keys of one product, by which its releases are checked when they are published. */
export const PublicKeys = z.strictObject({ minisign: MinisignPublicKey.optional(), ed: EdPublicKey.optional() });
export type PublicKeys = z.infer<typeof PublicKeys>;

/** Reads what `MinisignSignature` gives. @throws Error for anything else. */
export function parseMinisignature(base64: string): Minisignature {
  const [, line, trustedComment, global] = MINISIGN_FILE.exec(Buffer.from(base64, "base64").toString()) ?? [];
  if (line === undefined || trustedComment === undefined || global === undefined) {
    throw new Error("It is not a minisign signature file");
  }
  const bytes = Buffer.from(line, "base64");
  return {
    algorithm: bytes.subarray(0, 2).toString("latin1"),
    keyId: readKeyId(bytes),
    signature: bytes.subarray(2 + KEY_ID_BYTES),
    trustedComment,
    globalSignature: Buffer.from(global, "base64"),
  };
}

/** The key id of a minisign public key, in hexadecimal. */
export function keyIdOf(minisignPublicKey: string): string {
  return readKeyId(Buffer.from(minisignPublicKey, "base64"));
}

/** As minisign prints it: the eight bytes are a little-endian number. */
function readKeyId(bytes: Buffer): string {
  return Buffer.from(bytes.subarray(2, 2 + KEY_ID_BYTES))
    .reverse()
    .toString("hex")
    .toUpperCase();
}

/** Whether the file's signature, of `signed`, and the trusted comment's are the key's. */
export function verifyMinisignature(
  { signature, trustedComment, globalSignature }: Minisignature,
  minisignPublicKey: string,
  signed: Uint8Array,
): boolean {
  const key = edKeyOf(Buffer.from(minisignPublicKey, "base64").subarray(2 + KEY_ID_BYTES));
  const comment = Buffer.concat([signature, Buffer.from(trustedComment)]);
  return verify(null, signed, key, signature) && verify(null, comment, key, globalSignature);
}

/** Whether a Sparkle signature of `bytes` is the key's: Ed25519 of the file itself (RFC 8032). */
export function verifyEdSignature(edSignature: string, edPublicKey: string, bytes: Uint8Array): boolean {
  return verify(null, bytes, edKeyOf(Buffer.from(edPublicKey, "base64")), Buffer.from(edSignature, "base64"));
}

/** RFC 8410, 4: an Ed25519 public key is SPKI around 32 bytes. */
function edKeyOf(raw: Uint8Array): KeyObject {
  const key = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  return createPublicKey({ key, format: "der", type: "spki" });
}
