import { createHash } from "node:crypto";
import { type ArtifactFile, assertUnchanged, openUnchanged } from "./artifact-files";

const CHUNK_BYTES = 256 * 1024;
const MAX_CHECKED_FILES = 10_000;
const RECENT_MS = 1_000;

type Checked = { fingerprint: string; sha256: Promise<string> };

/** What each file was hashed to, by its path. The fingerprint says whether that still holds. */
const checked = new Map<string, Checked>();

/**
 * Makes sure that a file has the bytes that the catalog describes. It is read once by each process, before the
 * first byte is served, and again when its inode, size or times change; whoever asks meanwhile waits for that.
 * @throws Error where its SHA-256 (hexadecimal) is another, or where it cannot be read.
 */
export async function verifyIntegrity(file: ArtifactFile, sha256: string): Promise<void> {
  const known = checked.get(file.path);
  const check = known?.fingerprint === file.fingerprint ? known : startCheck(file);
  if ((await check.sha256) === sha256) return;
  throw new Error("Its SHA-256 is not the catalog's: it was written over, or is damaged. Publish the same file again");
}

function startCheck(file: ArtifactFile): Checked {
  const check = { fingerprint: file.fingerprint, sha256: hashFile(file) };
  if (checked.size >= MAX_CHECKED_FILES) checked.clear();
  checked.set(file.path, check);
  const forget = () => void (checked.get(file.path) === check && checked.delete(file.path));
  // A fault may be over next time.
  check.sha256.then(isRecent(file) ? forget : () => {}, forget);
  return check;
}

/** Written within a tick of the file system's clock, the next change might leave the same times (as in git's index). */
function isRecent({ stats }: ArtifactFile): boolean {
  return Math.abs(Date.now() - Number(stats.ctimeMs)) < RECENT_MS;
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
