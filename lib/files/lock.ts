import { type FileHandle, open, rm, rmdir, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { tryLock } from "fs-native-extensions";

const RETRY_MS = 50;

/** Another process, or another part of this one, holds the lock on a file. */
export class FileLockedError extends Error {
  override readonly name = "FileLockedError";

  /** `pid` is the holder's, as it wrote it into the file: the number that its own container knows it by. */
  constructor(
    readonly file: string,
    readonly pid: string,
  ) {
    super(`${file} is locked by another process${pid ? ` (pid ${pid})` : ""}`);
  }
}

/**
 * Locks a file, which is created where it is missing, and waits at most `maxWaitMs` for another holder. The kernel holds the
 * lock for the open file (Linux: fcntl(2), open file description locks): a stopped process keeps it, and one that ends,
 * however it ends, gives it up. Returns how to release it, which removes the file.
 * @throws FileLockedError where it is still held.
 */
export async function lockFile(file: string, maxWaitMs = 0): Promise<() => Promise<void>> {
  const givesUpAtMs = performance.now() + maxWaitMs;
  for (;;) {
    const taken = await tryTake(file);
    if (typeof taken === "function") return taken;
    if (performance.now() >= givesUpAtMs) throw taken;
    await delay(RETRY_MS);
  }
}

async function tryTake(file: string): Promise<(() => Promise<void>) | FileLockedError> {
  const handle = await openLock(file);
  try {
    if (!tryLock(handle.fd)) {
      const pid = await readPid(handle);
      await handle.close();
      return new FileLockedError(file, pid);
    }
    if (!(await isAt(handle, file))) {
      await handle.close(); // its holder removed it after it was opened here
      return await tryTake(file);
    }
    await handle.truncate();
    await handle.write(`${process.pid}\n`, 0).catch(() => {}); // a full disk leaves it out
  } catch (error) {
    await handle.close();
    throw error;
  }
  return () => rm(file, { force: true }).finally(() => handle.close());
}

/** Whether a file is still the one of its name. */
async function isAt(handle: FileHandle, file: string): Promise<boolean> {
  const [own, named] = [await handle.stat(), await stat(file).catch(() => null)];
  return named?.ino === own.ino && named.dev === own.dev;
}

async function openLock(file: string): Promise<FileHandle> {
  try {
    return await open(file, "a+", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
    await rmdir(file); // an earlier version locked by a folder of this name
    return open(file, "a+", 0o600);
  }
}

async function readPid(handle: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
  return buffer.toString("latin1", 0, bytesRead).trim();
}
