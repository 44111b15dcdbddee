import { access, constants, type FileHandle, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { Artifact } from "./schema";

const CHUNK_BYTES = 64 * 1024;

/** A path of the catalog leads out of the catalog's folder. */
export class ClimbingPathError extends Error {
  override readonly name = "ClimbingPathError";
}

/** A file of the catalog, as it lies on the disk. `modifiedNs` tells it from what may be written over it. */
export type FoundFile = { path: string; sizeBytes: number; modifiedAt: Date; modifiedNs: bigint };

/** Part of a file: the bytes from `first` to `last`, both included. `onError` hears of what cut it short. */
export type FilePart = { file: FoundFile; first: number; last: number; onError: (error: unknown) => void };

/**
 * Where a catalog's file lies, symbolic links resolved. `root` is the catalog's folder, resolved already.
 * @throws ClimbingPathError for an absolute path, a `..` or a link that leads out; ENOENT and its like.
 */
export async function locate(root: string, file: string): Promise<string> {
  if (path.isAbsolute(file) || file.includes("\0") || file.split(/[/\\]/).includes("..")) {
    throw new ClimbingPathError("The path leads out of the catalog's folder");
  }
  const found = await realpath(path.join(root, file));
  const inside = path.relative(root, found);
  if (inside === ".." || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) {
    throw new ClimbingPathError("A symbolic link leads out of the catalog's folder");
  }
  return found;
}

/**
 * Finds an artifact's file, without opening it.
 * @throws Error where it is missing, climbs out, cannot be read or has not the size that the catalog says.
 */
export async function findFile(root: string, file: string, { sizeBytes }: Artifact): Promise<FoundFile> {
  const found = await locate(root, file);
  const stats = await stat(found, { bigint: true });
  if (!stats.isFile()) throw new Error("Not a file");
  if (stats.size !== BigInt(sizeBytes)) throw new Error(`It has ${stats.size} bytes, the catalog says ${sizeBytes}`);
  await access(found, constants.R_OK);
  return { path: found, sizeBytes, modifiedAt: stats.mtime, modifiedNs: stats.mtimeNs };
}

/**
 * A part of a file as bytes that are read when they are asked for. The file is opened at the first read, and
 * closed at the end, when the reader stops early, and on any error. One that was renamed or removed is sent as it
 * was; one that was written over meanwhile is an error before its last bytes, so that no reader takes it for whole.
 */
export async function* readPart({ file, first, last, onError }: FilePart): AsyncGenerator<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    await requireSame(handle, file);
    for (let at = first; at <= last; ) {
      const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, last + 1 - at)); // not pooled: it is handed over
      const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, at);
      if (bytesRead === 0) throw new Error("The file became shorter while it was sent");
      at += bytesRead;
      if (at > last) await requireSame(handle, file);
      yield chunk.subarray(0, bytesRead);
    }
  } catch (error) {
    onError(error);
    throw error;
  } finally {
    await handle?.close();
  }
}

async function requireSame(handle: FileHandle, { sizeBytes, modifiedNs }: FoundFile): Promise<void> {
  const { size, mtimeNs } = await handle.stat({ bigint: true });
  if (size !== BigInt(sizeBytes) || mtimeNs !== modifiedNs) throw new Error("The file was written over");
}
