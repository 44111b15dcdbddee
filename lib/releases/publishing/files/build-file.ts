import { createHash, type Hash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { link, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";
import { CommandError } from "../../../errors";
import { makeFolder, moveDurably, removeOldFiles, writeChunks } from "../../../platform/files/durable";

/** A file's size and hashes as the catalog has them: `sha256` in hexadecimal, `sha512` in base64. */
export type Digest = { sizeBytes: number; sha256: string; sha512: string };

export type OnProgress = (task: "Hashing" | "Copying" | "Uploading", doneBytes: number, totalBytes: number) => void;

const CHUNK_BYTES = 1024 * 1024;
const PART_EXTENSION = ".part";
const PARTS = /^\..*\.part$/;

async function sizeOf(file: string): Promise<number> {
  const stats = await stat(file).catch((error: Error) => {
    throw new CommandError("file_unreadable", `${file} cannot be read: ${error.message}`);
  });
  if (stats.isFile() && stats.size > 0) return stats.size;
  throw new CommandError("file_unreadable", `${file} is not a regular file, or is empty`);
}

/** Passes bytes through and hashes them. `digest` is valid once all bytes have been read. */
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

/** Reads a file in chunks. `onBytes` receives the number of bytes read so far. */
export async function* readChunks(file: string, onBytes: (doneBytes: number) => void): AsyncGenerator<Uint8Array> {
  let doneBytes = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES })) {
    yield chunk as Uint8Array;
    doneBytes += (chunk as Uint8Array).byteLength;
    onBytes(doneBytes);
  }
}

/** Hashes a file. @throws AppError if it is not a regular file, or empty */
export async function digestFile(file: string, onProgress?: OnProgress): Promise<Digest> {
  const totalBytes = await sizeOf(file);
  const { bytes, digest } = withDigest(readChunks(file, (done) => onProgress?.("Hashing", done, totalBytes)));
  for await (const _ of bytes);
  return digest();
}

/** A file under a temporary name. `moveTo` gives it its final one. */
type NamedFile = { moveTo: (file: string) => Promise<void>; discard: () => Promise<void> };
export type FileCopy = Digest & NamedFile;

/** What `link` fails with where files cannot have a second name, or the folder is on another file system. */
const NO_LINKS = new Set(["EXDEV", "EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK"]);

/** Copies a file into a folder under a unique temporary name, hashes it on the way, and syncs it. */
export async function copyToFolder(file: string, folder: string, onProgress?: OnProgress): Promise<FileCopy> {
  const totalBytes = await sizeOf(file);
  await makeFolder(folder);
  await removeStaleParts(folder);
  const { part, discard, moveTo } = namePart(folder);
  const { bytes, digest } = withDigest(readChunks(file, (done) => onProgress?.("Copying", done, totalBytes)));
  await writeChunks(part, bytes);
  return { ...digest(), moveTo, discard };
}

/** Gives a synced file a temporary second name in a folder, which saves copying it. null: not possible there. */
export async function linkToFolder(file: string, folder: string): Promise<NamedFile | null> {
  const { part, ...named } = namePart(folder);
  try {
    await utimes(file, new Date(), new Date()); // both names have one time, and an old part is deleted
    await link(file, part);
    return named;
  } catch (error) {
    if (NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

function namePart(folder: string): NamedFile & { part: string } {
  const part = path.join(folder, `.${randomUUID()}${PART_EXTENSION}`);
  const moveTo = async (to: string) => {
    await makeFolder(path.dirname(to));
    await moveDurably(part, to);
  };
  return { part, moveTo, discard: () => rm(part, { force: true }) };
}

/** Deletes the temporary files that processes left in a folder when they were killed. */
export const removeStaleParts = (folder: string): Promise<void> => removeOldFiles(folder, PARTS);
