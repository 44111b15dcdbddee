import { createHash, type Hash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { makeFolder, moveDurably } from "../../files/durable";
import { PublishingError } from "./manifest-file";

/** What the catalog says of a file's bytes: `sha256` in hexadecimal, `sha512` in base64. */
export type Digest = { sizeBytes: number; sha256: string; sha512: string };

/** Hears of each part of a long work: what is being done, and how much of it is done. */
export type OnProgress = (what: "Hashing" | "Copying" | "Uploading", doneBytes: number, totalBytes: number) => void;

const CHUNK_BYTES = 1024 * 1024;
const PART = ".part";
/** Copies that were broken off are thrown away after a day. */
const LEFTOVER_MS = 24 * 60 * 60 * 1000;

/** The size of a build. @throws PublishingError for what is no file, or an empty one. */
async function sizeOf(file: string): Promise<number> {
  const stats = await stat(file).catch((error: Error) => {
    throw new PublishingError(`${file} cannot be read: ${error.message}`);
  });
  if (!stats.isFile() || stats.size === 0) throw new PublishingError(`${file} is not a file with something in it`);
  return stats.size;
}

/** Bytes with their digest, which is whole once they have been read. */
export function withDigest(bytes: AsyncIterable<Uint8Array>): {
  bytes: AsyncIterable<Uint8Array>;
  digest: () => Digest;
} {
  const hashes: [Hash, Hash] = [createHash("sha256"), createHash("sha512")];
  let sizeBytes = 0;
  async function* read() {
    for await (const chunk of bytes) {
      for (const hash of hashes) hash.update(chunk);
      sizeBytes += chunk.byteLength;
      yield chunk;
    }
  }
  const digest = () => ({ sizeBytes, sha256: hashes[0].digest("hex"), sha512: hashes[1].digest("base64") });
  return { bytes: read(), digest };
}

/** A file's bytes. `onBytes` hears how many there were so far. */
export async function* readChunks(file: string, onBytes: (doneBytes: number) => void): AsyncGenerator<Uint8Array> {
  let doneBytes = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES })) {
    yield chunk as Uint8Array;
    doneBytes += (chunk as Uint8Array).byteLength;
    onBytes(doneBytes);
  }
}

/** The digest of a file. */
export async function digestFile(file: string, onProgress?: OnProgress): Promise<Digest> {
  const totalBytes = await sizeOf(file);
  const { bytes, digest } = withDigest(readChunks(file, (done) => onProgress?.("Hashing", done, totalBytes)));
  for await (const _ of bytes);
  return digest();
}

/** A copy in the catalog's folder that has no name yet. */
export type FileCopy = Digest & { moveTo: (file: string) => Promise<void>; discard: () => Promise<void> };

/** Copies a build into a folder, digested on the way and synced, under a name that nothing else has. */
export async function copyToFolder(file: string, folder: string, onProgress?: OnProgress): Promise<FileCopy> {
  const totalBytes = await sizeOf(file);
  await makeFolder(folder);
  await removeLeftovers(folder);
  const part = path.join(folder, `.${randomUUID()}${PART}`);
  const discard = () => rm(part, { force: true });
  const { bytes, digest } = withDigest(readChunks(file, (done) => onProgress?.("Copying", done, totalBytes)));
  const handle = await open(part, "wx");
  try {
    for await (const chunk of bytes) await handle.writeFile(chunk);
    await handle.sync();
  } catch (error) {
    await discard();
    throw error;
  } finally {
    await handle.close();
  }
  const moveTo = async (to: string) => {
    await makeFolder(path.dirname(to));
    await moveDurably(part, to);
  };
  return { ...digest(), moveTo, discard };
}

async function removeLeftovers(folder: string): Promise<void> {
  const before = Date.now() - LEFTOVER_MS;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(".") || !name.endsWith(PART)) continue;
    const file = path.join(folder, name);
    const stats = await stat(file).catch(() => null); // gone meanwhile
    if (stats && stats.mtimeMs < before) await rm(file, { force: true });
  }
}
