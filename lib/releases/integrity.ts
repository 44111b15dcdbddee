import { createHash } from "node:crypto";
import { type ArtifactFile, assertUnchanged, openUnchanged } from "./artifact-files";

const CHUNK_BYTES = 256 * 1024;
const MAX_CACHED_HASHES = 10_000;
/** Writes within one tick of the file system's clock leave the same times (git's "racily clean" index entries). */
const RACY_MS = 1_000;

type CachedHash = { fingerprint: string; sha256: Promise<string> };

/** Hashes by path, valid while the fingerprint stays the same. */
const cachedHashes = new Map<string, CachedHash>();

/**
 * Verifies a file's SHA-256 before a process first serves it, and after each change. Concurrent calls share one read.
 * @throws Error if the hash differs, or the file cannot be read
 */
export async function verifyIntegrity(file: ArtifactFile, sha256: string): Promise<void> {
  const cached = cachedHashes.get(file.path);
  const hash = cached?.fingerprint === file.fingerprint ? cached : startHash(file);
  if ((await hash.sha256) === sha256) return;
  throw new Error("The file's SHA-256 differs from the catalog's: it was overwritten or damaged. Publish it again");
}

function startHash(file: ArtifactFile): CachedHash {
  const hash = { fingerprint: file.fingerprint, sha256: hashFile(file) };
  if (cachedHashes.size >= MAX_CACHED_HASHES) cachedHashes.clear();
  cachedHashes.set(file.path, hash);
  const forget = () => void (cachedHashes.get(file.path) === hash && cachedHashes.delete(file.path));
  // An error is not cached: the next request tries again.
  hash.sha256.then(isRacy(file) ? forget : () => {}, forget);
  return hash;
}

function isRacy({ stats }: ArtifactFile): boolean {
  return Math.abs(Date.now() - Number(stats.ctimeMs)) < RACY_MS;
}

async function hashFile(file: ArtifactFile): Promise<string> {
  const hash = createHash("sha256");
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const handle = await openUnchanged(file);
  try {
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength);
      if (bytesRead === 0) break;
      hash.update(chunk.subarray(0, bytesRead));
    }
    await assertUnchanged(handle, file);
  } finally {
    await handle.close();
  }
  return hash.digest("hex");
}
