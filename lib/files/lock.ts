import { type FileHandle, open, rmdir } from "node:fs/promises";
import { tryLock } from "fs-native-extensions";

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
 * Locks a file, which is created where it is missing and is never removed. The kernel holds the lock for the open file
 * (Linux: fcntl(2), open file description locks): a stopped process keeps it, and one that ends, however it ends, gives it up.
 * Returns how to release it.
 * @throws FileLockedError where it is held already.
 */
export async function lockFile(file: string): Promise<() => Promise<void>> {
  const handle = await openLock(file);
  try {
    if (!tryLock(handle.fd)) throw new FileLockedError(file, await readPid(handle));
    await handle.truncate();
    await handle.write(`${process.pid}\n`, 0);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return async () => {
    await handle.truncate();
    await handle.close();
  };
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
