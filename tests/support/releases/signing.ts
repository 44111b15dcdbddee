import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A team's key, for Tauri as for Sparkle. */
export type SigningKey = {
  /** The line of minisign's .pub file. */
  minisignKey: string;
  /** Sparkle's SUPublicEDKey. */
  edKey: string;
  /** A minisign signature file; `legacy`: of the bytes rather than of their hash. */
  minisign: (bytes: Uint8Array, trustedComment: string, legacy?: boolean) => string;
  /** What Sparkle's sign_update prints. */
  ed: (bytes: Uint8Array) => string;
};

export function newSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const keyId = randomBytes(8);
  return {
    minisignKey: Buffer.concat([Buffer.from("Ed"), keyId, raw]).toString("base64"),
    edKey: raw.toString("base64"),
    minisign: (bytes, trustedComment, legacy = false) => {
      const hash = () => createHash("blake2b512").update(bytes).digest();
      const signature = sign(null, legacy ? bytes : hash(), privateKey);
      const global = sign(null, Buffer.concat([signature, Buffer.from(trustedComment)]), privateKey);
      const line = Buffer.concat([Buffer.from(legacy ? "Ed" : "ED"), keyId, signature]).toString("base64");
      return `untrusted comment: x\n${line}\ntrusted comment: ${trustedComment}\n${global.toString("base64")}\n`;
    },
    ed: (bytes) => sign(null, bytes, privateKey).toString("base64"),
  };
}

/** Signs an appcast as Sparkle's sign_update does (`signAppcast` in common_cli/Signing.swift). */
export function signAppcast(content: string, { ed }: Pick<SigningKey, "ed">): string {
  const bytes = Buffer.from(content);
  return `${content}<!-- sparkle-signatures:\nedSignature: ${ed(bytes)}\nlength: ${bytes.byteLength}\n-->\n`;
}
