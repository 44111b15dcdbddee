import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { z } from "zod";

/** A minisign signature (https://jedisct1.github.io/minisign, "Signature format"). */
export type Minisignature = {
  /** `ED` signs the file's BLAKE2b-512 hash; `Ed`, the legacy format, signs the file itself. */
  algorithm: string;
  /** Hexadecimal. Identifies the key, without proof. */
  keyId: string;
  signature: Buffer;
  trustedComment: string;
  /** Signs `signature` and `trustedComment`. */
  globalSignature: Buffer;
};

const MINISIGN_FILE =
  /^untrusted comment: .*\r?\n([A-Za-z0-9+/]{99}=)\r?\ntrusted comment: (.*?)\r?\n([A-Za-z0-9+/]{86}==)\s*$/;
const KEY_ID_BYTES = 8;
const UNTRUSTED = "untrusted comment:";

/** A minisign signature file in base64, as `tauri signer sign` writes it, or the text that `minisign -S` writes. */
export const MinisignSignature = z
  .string()
  .max(4096)
  .transform((text) => (text.startsWith(UNTRUSTED) ? Buffer.from(text).toString("base64") : text.replace(/\s/g, "")))
  .refine((text) => MINISIGN_FILE.test(Buffer.from(text, "base64").toString()), "Must be a minisign signature file");

/** A signature for Sparkle and WinSparkle as `sign_update -p` prints it: 64 bytes in base64. */
export const EdSignature = z.string().regex(/^[A-Za-z0-9+/]{86}==$/, "Must be an EdDSA signature in base64");

/** A minisign public key: the line that begins with RW, the .pub file, or the file in base64 (Tauri's `pubkey`). */
const MinisignPublicKey = z
  .string()
  .max(4096)
  .transform((text) => {
    const decoded = Buffer.from(text, "base64").toString();
    const file = [text, decoded].find((one) => one.startsWith(UNTRUSTED));
    return (file?.split(/\r?\n/)[1] ?? text).trim();
  })
  .refine((text) => /^RW[A-Za-z0-9+/]{54}$/.test(text), "Must be a minisign public key");

/** Sparkle's `SUPublicEDKey` as `generate_keys -p` prints it: 32 bytes in base64. */
const EdPublicKey = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9+/]{43}=$/, "Must be an EdDSA public key in base64");

const MAX_KEYS = 10;

const SPKI_HEADER = Buffer.from("302a300506032b6570032100", "hex");
const PEM_PUBLIC_KEY = /-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]*)-----END PUBLIC KEY-----/g;

/** electron-builder's `updateManifest.publicKey`: Ed25519 keys as SPKI, in PEM or base64. Parses a file with several. */
export const ManifestPublicKeys = z
  .string()
  .max(16 * 1024)
  .transform((text) => {
    const blocks = [...text.matchAll(PEM_PUBLIC_KEY)].map(([, base64 = ""]) => base64);
    const keys = (blocks.length > 0 ? blocks : [text]).map((base64) => Buffer.from(base64, "base64"));
    return keys.map((key) => key.toString("base64"));
  })
  .refine((keys) => keys.every(isEd25519Spki), "Must be an Ed25519 public key, in PEM or base64");

function isEd25519Spki(base64: string): boolean {
  const bytes = Buffer.from(base64, "base64");
  return bytes.length === SPKI_HEADER.length + 32 && bytes.subarray(0, SPKI_HEADER.length).equals(SPKI_HEADER);
}

/** The public keys of one product, which verify the signatures of its releases when they are published. */
export const PublicKeys = z.strictObject({
  minisign: MinisignPublicKey.optional(),
  /** Several during a rotation. */
  ed: z.union([EdPublicKey, z.array(EdPublicKey).min(1).max(MAX_KEYS)]).optional(),
  /** Several during a rotation. */
  manifest: z
    .array(ManifestPublicKeys)
    .transform((files) => [...new Set(files.flat())].sort())
    .pipe(z.array(z.string()).min(1).max(MAX_KEYS))
    .optional(),
});
export type PublicKeys = z.infer<typeof PublicKeys>;

/** A product's keys. Safe for products with names such as `constructor`. */
export function publicKeysOf(publicKeys: Readonly<Record<string, PublicKeys>>, product: string): PublicKeys {
  return (Object.hasOwn(publicKeys, product) && publicKeys[product]) || {};
}

/** The keys for Sparkle and WinSparkle. */
export function edKeysOf({ ed = [] }: PublicKeys): readonly string[] {
  return typeof ed === "string" ? [ed] : ed;
}

/** Parses the output of `MinisignSignature`. @throws Error for anything else */
export function parseMinisignature(base64: string): Minisignature {
  const [, line, trustedComment, global] = MINISIGN_FILE.exec(Buffer.from(base64, "base64").toString()) ?? [];
  if (line === undefined || trustedComment === undefined || global === undefined) {
    throw new Error("Not a minisign signature file");
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

/** A field of a trusted comment such as `timestamp:1793786400\tfile:setup.exe\tversion:1.5.0`. */
export function commentField(trustedComment: string, name: string): string | undefined {
  const fields = trustedComment.split("\t").map((field) => field.split(/:(.*)/s));
  return fields.find(([key]) => key === name)?.[1];
}

/** The version that Tauri's CLI has signed since 2.11.5, and its updater plugin compares since 2.12. */
export const signedVersion = (trustedComment: string) => commentField(trustedComment, "version")?.replace(/^v+/, "");

/** The key id of a minisign public key, in hexadecimal. */
export function keyIdOf(minisignPublicKey: string): string {
  return readKeyId(Buffer.from(minisignPublicKey, "base64"));
}

/** Eight bytes in little-endian order, formatted as minisign prints them. */
function readKeyId(bytes: Buffer): string {
  return Buffer.from(bytes.subarray(2, 2 + KEY_ID_BYTES))
    .reverse()
    .toString("hex")
    .toUpperCase();
}

/** Whether the key signed both `signed`, the file or its hash, and the trusted comment. */
export function verifyMinisignature(
  { signature, trustedComment, globalSignature }: Minisignature,
  minisignPublicKey: string,
  signed: Uint8Array,
): boolean {
  const key = edKeyOf(Buffer.from(minisignPublicKey, "base64").subarray(2 + KEY_ID_BYTES));
  const comment = Buffer.concat([signature, Buffer.from(trustedComment)]);
  return verify(null, signed, key, signature) && verify(null, comment, key, globalSignature);
}

/** Verifies a Sparkle signature: Ed25519 over the file itself (RFC 8032). */
export function verifyEdSignature(edSignature: string, edPublicKey: string, bytes: Uint8Array): boolean {
  return verify(null, bytes, edKeyOf(Buffer.from(edPublicKey, "base64")), Buffer.from(edSignature, "base64"));
}

/** node:crypto verifies Ed25519 over one buffer, which can hold 2 GiB. */
export const MAX_ED25519_BYTES = 2 ** 31 - 1;

/** Wraps 32 bytes as an SPKI Ed25519 public key (RFC 8410, section 4). */
function edKeyOf(raw: Uint8Array): KeyObject {
  const key = Buffer.concat([SPKI_HEADER, raw]);
  return createPublicKey({ key, format: "der", type: "spki" });
}
