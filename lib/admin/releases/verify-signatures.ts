import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import path from "node:path";
import {
  keyIdOf,
  type Minisignature,
  type PublicKeys,
  parseMinisignature,
  verifyEdSignature,
  verifyMinisignature,
} from "../../releases/signatures";
import { readChunks } from "./build-file";
import { PublishingError } from "./manifest-file";

/** A signed file that is to be published. `fileNames`: what the file is called, here and on the caller's disk. */
export type SignedFile = {
  file: string;
  fileNames: readonly string[];
  sizeBytes: number;
  product: string;
  version: string;
  minisign?: string | undefined;
  edSignature?: string | undefined;
};

/** node:crypto verifies Ed25519 in one go, of 2 GiB at most. */
const MAX_ED25519_BYTES = 2 ** 31 - 1;

/**
 * Verifies a file's signatures with the product's public keys. Returns what could not be verified, as sentences.
 * @throws PublishingError for a signature of another file, key or version.
 */
export async function verifySignatures(signed: SignedFile, keys: PublicKeys): Promise<string[]> {
  const notes: string[] = [];
  const { file, product, minisign, edSignature } = signed;
  if (minisign !== undefined) notes.push(...(await checkMinisign(signed, parseMinisignature(minisign), keys.minisign)));
  if (edSignature === undefined) return notes;
  if (keys.ed === undefined) notes.push(unverified("EdDSA", product, "--ed-key"));
  else if (signed.sizeBytes > MAX_ED25519_BYTES) notes.push("The EdDSA signature was NOT verified: 2 GiB is the most.");
  else if (!verifyEdSignature(edSignature, keys.ed, await readWhole(file, signed.sizeBytes))) {
    throw new PublishingError(`The EdDSA signature is not one of ${file} by ${product}'s key.`);
  }
  return notes;
}

async function checkMinisign(signed: SignedFile, signature: Minisignature, key: string | undefined): Promise<string[]> {
  const { file, product, sizeBytes, fileNames } = signed;
  const { algorithm, keyId, trustedComment } = signature;
  requireVersion(trustedComment, signed.version);
  if (!["ED", "Ed"].includes(algorithm)) throw new PublishingError("The minisign signature has an unknown algorithm.");
  if (key === undefined) {
    requireFileName(trustedComment, fileNames);
    return [unverified("minisign", product, "--minisign-key")];
  }
  if (keyIdOf(key) !== keyId) {
    throw new PublishingError(`The minisign signature is by the key ${keyId}, and ${product}'s is ${keyIdOf(key)}.`);
  }
  if (algorithm === "Ed" && sizeBytes > MAX_ED25519_BYTES) {
    return ["The minisign signature was NOT verified: in its legacy format 2 GiB is the most."];
  }
  const bytes = algorithm === "ED" ? await hashWhole(file) : await readWhole(file, sizeBytes);
  if (!verifyMinisignature(signature, key, bytes)) {
    throw new PublishingError(`The minisign signature is not one of ${file} by ${product}'s key.`);
  }
  return [];
}

const unverified = (kind: string, product: string, option: string) =>
  `The ${kind} signature was NOT verified: no public key of ${product} is known. Name it once with ${option}.`;

/** The version that a comment names (`version:1.4.0`), or the numbers of its file's name, must be the release's. */
function requireVersion(trustedComment: string, version: string): void {
  const named = fieldOf(trustedComment, "version");
  const numbers = (trustedComment.match(/\d+(?:\.\d+)+/g) ?? []).filter((text) => text.split(".").length === 3);
  const [own = ""] = version.split(/[-+]/);
  const isSame =
    named === undefined ? numbers.length === 0 || numbers.includes(own) : named.replace(/^v/, "") === version;
  if (isSame) return;
  throw new PublishingError(
    `The minisign signature is for another version: its trusted comment is "${trustedComment}".`,
  );
}

/** Tauri and minisign sign the file's name along. Who renames files afterwards can have them verified. */
function requireFileName(trustedComment: string, fileNames: readonly string[]): void {
  const named = fieldOf(trustedComment, "file");
  if (named === undefined || fileNames.includes(path.win32.basename(named))) return;
  throw new PublishingError(
    `The minisign signature is for another file: its trusted comment is "${trustedComment}". If the file was renamed, name the public key with --minisign-key, so that the signature itself is verified.`,
  );
}

/** One field of a trusted comment like `timestamp:1793786400\tfile:setup.exe\thashed`. */
function fieldOf(trustedComment: string, name: string): string | undefined {
  const fields = trustedComment.split("\t").map((field) => field.split(/:(.*)/s));
  return fields.find(([key]) => key === name)?.[1]?.trim();
}

async function hashWhole(file: string): Promise<Buffer> {
  const hash = createHash("blake2b512");
  for await (const chunk of readChunks(file, () => {})) hash.update(chunk);
  return hash.digest();
}

async function readWhole(file: string, sizeBytes: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(sizeBytes);
  const handle = await open(file);
  try {
    let doneBytes = 0;
    for (let bytesRead = 1; bytesRead > 0 && doneBytes < sizeBytes; doneBytes += bytesRead) {
      ({ bytesRead } = await handle.read(bytes, doneBytes, Math.min(sizeBytes - doneBytes, 2 ** 30)));
    }
    return bytes.subarray(0, doneBytes);
  } finally {
    await handle.close();
  }
}
