import { type FileHandle, open, rm, rmdir, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { tryLock } from "fs-native-extensions";

const RETRY_MS = 50;

/** Another process, or other code in this one, holds the lock on a file. */
export class FileLockedError extends Error {
  override readonly name = "FileLockedError";

  /** `pid` is the process id that the holder wrote to the file. In a container it is the id inside that container. */
  constructor(
    readonly file: string,
    readonly pid: string,
  ) {
    super(`${file} is locked by another process${pid ? ` (pid ${pid})` : ""}`);
  }
}

/**
 * Creates a file if it is missing, locks it, and waits at most `maxWaitMs` for another holder. The kernel ties the lock
 * to the open file (Linux: fcntl(2), open file description locks) and releases it when the process ends. Returns a
 * function that releases the lock and deletes the file.
 * @throws FileLockedError if another holder still has the lock
 */
export async function lockFile(file: string, maxWaitMs = 0): Promise<() => Promise<void>> {
  const deadlineMs = performance.now() + maxWaitMs;
  for (;;) {
    const outcome = await tryLockFile(file);
    if (typeof outcome === "function") return outcome;
    if (performance.now() >= deadlineMs) throw outcome;
    await delay(RETRY_MS);
  }
}

async function tryLockFile(file: string): Promise<(() => Promise<void>) | FileLockedError> {
  const handle = await openLock(file);
  try {
    if (!tryLock(handle.fd)) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
      await handle.close();
      return new FileLockedError(file, buffer.toString("latin1", 0, bytesRead).trim());
    }
    if (!(await isFileAt(handle, file))) {
      await handle.close(); // the previous holder deleted the file after it was opened here
      return await tryLockFile(file);
    }
    await handle.truncate();
    await handle.write(`${process.pid}\n`, 0).catch(() => {}); // optional: the disk may be full
  } catch (error) {
    await handle.close();
    throw error;
  }
  return () => rm(file, { force: true }).finally(() => handle.close());
}

/** Returns whether the path still refers to the open file. */
async function isFileAt(handle: FileHandle, file: string): Promise<boolean> {
  const [own, named] = [await handle.stat(), await stat(file).catch(() => null)];
  return named?.ino === own.ino && named.dev === own.dev;
}

async function openLock(file: string): Promise<FileHandle> {
  try {
    return await open(file, "a+", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
    await rmdir(file); // earlier versions used a folder of this name as the lock
    return open(file, "a+", 0o600);
  }
}
