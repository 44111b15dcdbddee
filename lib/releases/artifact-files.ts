import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { BodyPart } from "../platform/response-content";
import type { Artifact } from "./schema";

const CHUNK_BYTES = 64 * 1024;
const OVERWRITTEN = "The file was overwritten";

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

/** Parts of a file. `onError` receives the error that aborts the read. */
type FileParts = { file: ArtifactFile; parts: readonly BodyPart[]; onError: (error: unknown) => void };

/** Resolves a path below `root`, which is resolved itself. @throws PathTraversalError; the file system's errors */
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

/** Finds an artifact's file, and opens it once: a later error could only break the connection. @throws Error */
export async function findArtifactFile(
  root: string,
  file: string,
  { sizeBytes }: Pick<Artifact, "sizeBytes">,
): Promise<ArtifactFile> {
  const found = await resolveArtifactPath(root, file);
  const stats = await stat(found, { bigint: true });
  if (!stats.isFile()) throw new Error("Not a regular file");
  if (stats.size !== BigInt(sizeBytes))
    throw new Error(`The file has ${stats.size} bytes; the catalog says ${sizeBytes}`);
  const artifactFile = { path: found, sizeBytes, modifiedAt: stats.mtime, stats, fingerprint: fingerprintOf(stats) };
  await (await openUnchanged(artifactFile)).close();
  return artifactFile;
}

/** ctime, unlike mtime, cannot be set back. */
function fingerprintOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/**
 * Reads parts of a file on demand, and passes on those that are bytes already. A file that is renamed or deleted
 * meanwhile is read to its end. One that is overwritten causes an error before the last bytes, so that no client takes
 * a mixture for the file.
 */
export async function* readFileParts({ file, parts, onError }: FileParts): AsyncGenerator<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    handle = await openUnchanged(file);
    for (const part of parts) {
      if (part instanceof Uint8Array) yield part;
      else {
        for (let at = part.first; at <= part.last; ) {
          const chunk = await readChunk(handle, at, part.last);
          at += chunk.byteLength;
          if (at > part.last) await assertUnchanged(handle, file);
          yield chunk;
        }
      }
    }
  } catch (error) {
    onError(error);
    throw error;
  } finally {
    await handle?.close();
  }
}

async function readChunk(handle: FileHandle, at: number, last: number): Promise<Uint8Array> {
  const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, last + 1 - at)); // not pooled: the receiver keeps it
  const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, at);
  if (bytesRead === 0) throw new Error("The file was truncated while it was read");
  return chunk.subarray(0, bytesRead);
}

/** Opens a file for reading. @throws Error if it is not the file that was found, or was changed in any way since */
export async function openUnchanged(file: ArtifactFile): Promise<FileHandle> {
  const handle = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (fingerprintOf(await handle.stat({ bigint: true })) !== file.fingerprint) throw new Error(OVERWRITTEN);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Checks that an open file was not overwritten. Ignores ctime, which a rename changes too. @throws Error */
export async function assertUnchanged(handle: FileHandle, { stats }: ArtifactFile): Promise<void> {
  const { ino, size, mtimeNs } = await handle.stat({ bigint: true });
  if (ino !== stats.ino || size !== stats.size || mtimeNs !== stats.mtimeNs) throw new Error(OVERWRITTEN);
}
