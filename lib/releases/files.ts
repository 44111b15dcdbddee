import { access, constants, type FileHandle, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { Artifact } from "./schema";

const CHUNK_BYTES = 64 * 1024;

/** A path of the catalog leads out of the catalog's folder. */
export class ClimbingPathError extends Error {
  override readonly name = "ClimbingPathError";
}

/** A file of the catalog, as it lies on the disk. */
export type FoundFile = { path: string; modifiedAt: Date };

/** Part of a file: the bytes from `first` to `last`, both included. `onError` hears of what cut it short. */
export type FilePart = {
  open: () => Promise<FileHandle>;
  first: number;
  last: number;
  onError: (error: unknown) => void;
};

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
  const stats = await stat(found);
  if (!stats.isFile()) throw new Error("Not a file");
  if (stats.size !== sizeBytes) throw new Error(`The file has ${stats.size} bytes, the catalog says ${sizeBytes}`);
  await access(found, constants.R_OK);
  return { path: found, modifiedAt: stats.mtime };
}

/** Opens a found file. @throws Error where it is another one by now. */
export async function openFile({ path: found, modifiedAt }: FoundFile, { sizeBytes }: Artifact): Promise<FileHandle> {
  const handle = await open(found, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (stats.size !== sizeBytes || stats.mtime.getTime() !== modifiedAt.getTime()) throw new Error("The file changed");
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * A part of a file as bytes that are read when they are asked for. The file is opened at the first read, and
 * closed at the end, when the reader stops early, and on any error; a file that became shorter is an error.
 */
export async function* readPart({ open, first, last, onError }: FilePart): AsyncGenerator<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    handle = await open();
    for (let at = first; at <= last; ) {
      const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, last + 1 - at)); // not pooled: it is handed over
      const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, at);
      if (bytesRead === 0) throw new Error("The file became shorter while it was sent");
      at += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  } catch (error) {
    onError(error);
    throw error;
  } finally {
    await handle?.close();
  }
}
