import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import path from "node:path";
import { AppError } from "../../../errors";
import type { Release } from "../../schema";
import {
  commentField,
  edKeysOf,
  keyIdOf,
  MAX_ED25519_BYTES,
  type Minisignature,
  type PublicKeys,
  parseMinisignature,
  signedVersion,
  verifyEdSignature,
  verifyMinisignature,
} from "../../signatures";
import { manifestKeyId, parseUpdateManifest, signersOf } from "../../update-manifest";
import { readChunks } from "./build-file";

const invalidSignature = (reason: string) => new AppError("signature_invalid", reason);

/** A signed file to publish. `fileNames`: its local name and the name it is published under. */
export type SignedFile = {
  file: string;
  fileNames: readonly string[];
  sizeBytes: number;
  product: string;
  version: string;
  minisign?: string | undefined;
  edSignature?: string | undefined;
};

/** Verifies a file's signatures. Returns a sentence for each one that it could not verify. @throws AppError */
export async function verifySignatures(signed: SignedFile, keys: PublicKeys): Promise<string[]> {
  const notes: string[] = [];
  const { file, product, minisign, edSignature } = signed;
  if (minisign !== undefined)
    notes.push(...(await verifyMinisign(signed, parseMinisignature(minisign), keys.minisign)));
  if (edSignature === undefined) return notes;
  const edKeys = edKeysOf(keys);
  if (edKeys.length === 0) notes.push(unverified("EdDSA", product, "--ed-key"));
  else if (signed.sizeBytes > MAX_ED25519_BYTES)
    notes.push("The EdDSA signature was NOT verified: the file is larger than 2 GiB.");
  else {
    const bytes = await readWhole(file, signed.sizeBytes);
    if (!edKeys.some((key) => verifyEdSignature(edSignature, key, bytes)))
      throw invalidSignature(`The EdDSA signature does not match ${file} and ${product}'s key.`);
  }
  return notes;
}

async function verifyMinisign(
  signed: SignedFile,
  signature: Minisignature,
  key: string | undefined,
): Promise<string[]> {
  const { file, product, sizeBytes, fileNames } = signed;
  const { algorithm, keyId, trustedComment } = signature;
  assertSameVersion(trustedComment, signed.version);
  if (!["ED", "Ed"].includes(algorithm)) throw invalidSignature("The minisign signature has an unknown algorithm.");
  if (key === undefined) {
    assertSameFileName(trustedComment, fileNames);
    return [unverified("minisign", product, "--minisign-key")];
  }
  if (keyIdOf(key) !== keyId) {
    throw invalidSignature(`The minisign signature is by the key ${keyId}, but ${product}'s key is ${keyIdOf(key)}.`);
  }
  if (algorithm === "Ed" && sizeBytes > MAX_ED25519_BYTES) {
    return ["The minisign signature was NOT verified: it has the legacy format, and the file is larger than 2 GiB."];
  }
  const bytes = algorithm === "ED" ? await hashWhole(file) : await readWhole(file, sizeBytes);
  if (!verifyMinisignature(signature, key, bytes)) {
    throw invalidSignature(`The minisign signature does not match ${file} and ${product}'s key.`);
  }
  return [];
}

/** A sentence for each of a product's keys that did not sign a release's manifest, or that says that it has none. */
export function manifestNotes({ product, signedDocuments }: Release, { manifest: keys = [] }: PublicKeys): string[] {
  if (!signedDocuments.electron) return [];
  if (keys.length === 0) return [unverified("manifest's", product, "--manifest-key")];
  const signers = signersOf(parseUpdateManifest(signedDocuments.electron.text), keys);
  const others = keys.filter((key) => !signers.includes(key)).map(manifestKeyId);
  return others.map((keyId) => `The key ${keyId} has not signed the manifest: apps that trust no other key refuse it.`);
}

const unverified = (kind: string, product: string, option: string) =>
  `The ${kind} signature was NOT verified: the catalog has no public key of ${product}. Set it once with ${option}.`;

/** Compares the release's version with the comment's `version:` field, else with the one in its file name. */
function assertSameVersion(trustedComment: string, version: string): void {
  const named = signedVersion(trustedComment);
  const isSame = named === undefined ? mayName(trustedComment, version) : named === version;
  if (isSame) return;
  throw invalidSignature(`The minisign signature is for another version: its trusted comment is "${trustedComment}".`);
}

/** Three numbers, and a prerelease if it has a usual label: what follows could be an architecture. */
const VERSION = /(?<![\d.])(\d+\.\d+\.\d+)(?!\.?\d)(?:[-~._]((?:alpha|beta|rc|pre|dev|nightly|canary|next)[\w.-]*))?/gi;

/** Whether a text names the version, or none: `Ops_1.5.0-beta.1_x64-setup.exe`, `Ops.app.tar.gz`. */
function mayName(text: string, version: string): boolean {
  const [release = ""] = version.split("+");
  const [numbers, prerelease = ""] = release.split(/-(.*)/s);
  const found = [...text.matchAll(VERSION)];
  const isSame = ([, ownNumbers, label]: RegExpExecArray) =>
    ownNumbers === numbers && (label === undefined || isPrefix(prerelease, label));
  return found.length === 0 || found.some(isSame);
}

/** `beta.1` is not a prefix of `beta.10`. */
const isPrefix = (prerelease: string, label: string) =>
  prerelease !== "" && label.startsWith(prerelease) && !/^\d/.test(label.slice(prerelease.length));

/** Tauri and minisign sign the file name too. A renamed file can be published with the public key. */
function assertSameFileName(trustedComment: string, fileNames: readonly string[]): void {
  const named = commentField(trustedComment, "file")?.trim();
  if (named === undefined || fileNames.includes(path.win32.basename(named))) return;
  throw invalidSignature(
    `The minisign signature is for another file: its trusted comment is "${trustedComment}". If the file was renamed, set the public key with --minisign-key: then the signature itself is verified.`,
  );
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
