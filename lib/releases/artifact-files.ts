import { type BigIntStats, constants } from "node:fs";
import { access, type FileHandle, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { Artifact } from "./schema";

const CHUNK_BYTES = 64 * 1024;

/** A path of the catalog leads out of the catalog's folder. */
export class PathTraversalError extends Error {
  override readonly name = "ClimbingPathError";
}

/** A file of the catalog, as it lies on the disk. `fingerprint` changes with whatever is written over it. */
export type ArtifactFile = {
  path: string;
  sizeBytes: number;
  modifiedAt: Date;
  stats: BigIntStats;
  fingerprint: string;
};

/** Part of a file: the bytes from `first` to `last`, both included. `onError` hears of what cut it short. */
export type FileRange = { file: ArtifactFile; first: number; last: number; onError: (error: unknown) => void };

/**
 * Where a catalog's file lies, symbolic links resolved. `root` is the catalog's folder, resolved already.
 * @throws ClimbingPathError for an absolute path, a `..` or a link that leads out; ENOENT and its like.
 */
export async function resolveArtifactPath(root: string, file: string): Promise<string> {
  if (path.isAbsolute(file) || file.includes("\0") || file.split(/[/\\]/).includes("..")) {
    throw new PathTraversalError("The path leads out of the catalog's folder");
  }
  const found = await realpath(path.join(root, file));
  const inside = path.relative(root, found);
  if (inside === ".." || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) {
    throw new PathTraversalError("A symbolic link leads out of the catalog's folder");
  }
  return found;
}

/**
 * Finds an artifact's file, without opening it.
 * @throws Error where it is missing, climbs out, cannot be read or has not the size that the catalog says.
 */
export async function findArtifactFile(root: string, file: string, { sizeBytes }: Artifact): Promise<ArtifactFile> {
  const found = await resolveArtifactPath(root, file);
  const stats = await stat(found, { bigint: true });
  if (!stats.isFile()) throw new Error("Not a file");
  if (stats.size !== BigInt(sizeBytes)) throw new Error(`It has ${stats.size} bytes, the catalog says ${sizeBytes}`);
  await access(found, constants.R_OK);
  // The change time cannot be set back, as the modification time can.
  const fingerprint = `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
  return { path: found, sizeBytes, modifiedAt: stats.mtime, stats, fingerprint };
}

/**
 * A part of a file as bytes that are read when they are asked for. The file is opened at the first read, and
 * closed at the end, when the reader stops early, and on any error. One that was renamed or removed is sent as it
 * was; one that was written over meanwhile is an error before its last bytes, so that no reader takes it for whole.
 */
export async function* readFileRange({ file, first, last, onError }: FileRange): AsyncGenerator<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    handle = await openUnchanged(file);
    for (let at = first; at <= last; ) {
      const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, last + 1 - at)); // not pooled: it is handed over
      const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, at);
      if (bytesRead === 0) throw new Error("The file became shorter while it was sent");
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

/** Opens a file for reading. @throws Error where it is not the one that was found. */
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
 * Whether an open file holds what it held when it was found. Its change time does not count: renaming and removing
 * change that too. @throws Error where it was written over.
 */
export async function assertUnchanged(handle: FileHandle, { stats }: ArtifactFile): Promise<void> {
  const { ino, size, mtimeNs } = await handle.stat({ bigint: true });
  if (ino !== stats.ino || size !== stats.size || mtimeNs !== stats.mtimeNs) {
    throw new Error("The file was written over");
  }
}
