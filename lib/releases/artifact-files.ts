import { type BigIntStats, constants } from "node:fs";
import { access, type FileHandle, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { Artifact } from "./schema";

const CHUNK_BYTES = 64 * 1024;

/** A path in the catalog leads outside the catalog's folder. */
export class PathTraversalError extends Error {
  override readonly name = "PathTraversalError";
}

/** An artifact's file on disk. `fingerprint` changes when the file is overwritten. */
export type ArtifactFile = {
  path: string;
  sizeBytes: number;
  modifiedAt: Date;
  stats: BigIntStats;
  fingerprint: string;
};

/** The bytes of a file from `first` to `last`, both included. `onError` receives the error that aborts the read. */
export type FileRange = { file: ArtifactFile; first: number; last: number; onError: (error: unknown) => void };

/**
 * Resolves a path in the catalog, symbolic links included. `root` is the catalog's folder, already resolved.
 * @throws PathTraversalError for an absolute path, a `..` or a link that leads outside; the file system's errors
 */
export async function resolveArtifactPath(root: string, file: string): Promise<string> {
  if (path.isAbsolute(file) || file.includes("\0") || file.split(/[/\\]/).includes("..")) {
    throw new PathTraversalError("The path leads outside the catalog's folder");
  }
  const found = await realpath(path.join(root, file));
  const inside = path.relative(root, found);
  if (inside === ".." || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) {
    throw new PathTraversalError("A symbolic link leads outside the catalog's folder");
  }
  return found;
}

/**
 * Finds an artifact's file without opening it.
 * @throws Error if it is missing, outside the folder, not readable, or not of the size in the catalog
 */
export async function findArtifactFile(root: string, file: string, { sizeBytes }: Artifact): Promise<ArtifactFile> {
  const found = await resolveArtifactPath(root, file);
  const stats = await stat(found, { bigint: true });
  if (!stats.isFile()) throw new Error("Not a regular file");
  if (stats.size !== BigInt(sizeBytes))
    throw new Error(`The file has ${stats.size} bytes; the catalog says ${sizeBytes}`);
  await access(found, constants.R_OK);
  // ctime, unlike mtime, cannot be set back.
  const fingerprint = `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
  return { path: found, sizeBytes, modifiedAt: stats.mtime, stats, fingerprint };
}

/**
 * Reads part of a file on demand. Opens the file at the first read; closes it at the end, when the reader stops early,
 * and on any error. A file that is renamed or deleted during this is read to its end. One that is overwritten causes an
 * error before its last bytes, so that no client takes a mixture for the whole file.
 */
export async function* readFileRange({ file, first, last, onError }: FileRange): AsyncGenerator<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    handle = await openUnchanged(file);
    for (let at = first; at <= last; ) {
      const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, last + 1 - at)); // not pooled: the receiver keeps it
      const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, at);
      if (bytesRead === 0) throw new Error("The file was truncated while it was read");
      at += bytesRead;
      if (at > last) await assertUnchanged(handle, file);
      yield chunk.subarray(0, bytesRead);
    }
  } catch (error) {
    onError(error);
    throw error;
  } finally {
    await handle?.close();
  }
}

/** Opens a file for reading. @throws Error if it is not the file that was found */
export async function openUnchanged(file: ArtifactFile): Promise<FileHandle> {
  const handle = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    await assertUnchanged(handle, file);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Checks that an open file has not been overwritten since it was found. Ignores ctime, which renaming and deleting
 * change too. @throws Error if it has been overwritten
 */
export async function assertUnchanged(handle: FileHandle, { stats }: ArtifactFile): Promise<void> {
  const { ino, size, mtimeNs } = await handle.stat({ bigint: true });
  if (ino !== stats.ino || size !== stats.size || mtimeNs !== stats.mtimeNs) {
    throw new Error("The file was overwritten");
  }
}
