import { randomUUID } from "node:crypto";
import { close, fsync, open as openFile } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { z } from "zod";

/** File systems combine concurrent syncs into one write. */
const MAX_CONCURRENT_SYNCS = 8;
/** Of temporary files. Older ones are of processes that were killed. */
const MAX_TEMPORARY_AGE_MS = 24 * 60 * 60 * 1000;

type Options = {
  modifiedAt?: Date;
  /** The permissions of a new file. An existing file keeps its permissions. */
  mode?: number;
  /** Whether several processes may write the file at the same time. */
  isShared?: boolean;
};

/** The JSON in a file, as a schema has it; null if there is no file. @throws Error for an invalid one */
export async function readJsonFile<T>(file: string, schema: z.ZodType<T>): Promise<T | null> {
  try {
    return schema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** For `catch`: what counts in place of a file that does not exist. @throws any other error */
export const ifMissing =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === "ENOENT") return value;
    throw error;
  };

/** Writes a file atomically and durably: temporary file, fsync, rename, and fsync of the folder. */
export async function writeDurably(file: string, bytes: Uint8Array | string, options: Options = {}): Promise<void> {
  const temporary = options.isShared ? `${file}.${randomUUID()}.tmp` : `${file}.tmp`;
  const before = await stat(file).catch(() => null);
  await writeSynced(temporary, bytes, { ...options, mode: before ? before.mode & 0o777 : options.mode });
  await moveDurably(temporary, file);
}

/**
 * Creates a file atomically and durably unless it exists. Returns whether this call created it. Does not change an
 * existing file.
 */
export async function createDurably(file: string, bytes: Uint8Array | string, mode: number): Promise<boolean> {
  const temporary = `${file}.${process.pid}.tmp`;
  await writeSynced(temporary, bytes, { mode });
  try {
    await link(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    await rm(temporary);
    await syncPath(path.dirname(file));
  }
}

/** Writes chunks to a new file and syncs it; removes it on failure. Returns its size in bytes. @throws if the file exists */
export function writeChunks(file: string, chunks: AsyncIterable<Uint8Array>, mode?: number): Promise<number> {
  return synced(file, "wx", mode, async (handle) => {
    let sizeBytes = 0;
    for await (const chunk of chunks) {
      await handle.writeFile(chunk);
      sizeBytes += chunk.byteLength;
    }
    return sizeBytes;
  });
}

/** Renames a synced file or folder durably, within one file system. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncPath(path.dirname(to));
}

/** Creates a folder and its missing parents durably. */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode });
  if (first === undefined) return;
  const above = path.dirname(path.resolve(first));
  for (let place = path.dirname(path.resolve(folder)); place.length >= above.length; place = path.dirname(place)) {
    await syncPath(place);
    if (place === above) return;
  }
}

/**
 * Deletes the temporary files and folders of these names that processes left when they were killed, more than a day ago. `uid`: only
 * those of a user, in a folder that others may write to.
 */
export async function removeOldFiles(folder: string, names: RegExp, uid?: number): Promise<void> {
  const before = Date.now() - MAX_TEMPORARY_AGE_MS;
  for (const name of await readdir(/* turbopackIgnore: true */ folder).catch(ifMissing([]))) {
    if (!names.test(name)) continue;
    const file = path.join(folder, name);
    const stats = await lstat(file).catch(() => null); // deleted in the meantime
    if (!stats || (uid !== undefined && stats.uid !== uid)) continue;
    if (stats.mtimeMs < before) await rm(file, { recursive: true, force: true });
  }
}

export async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).values();
  const syncRest = async () => {
    for (const { name } of files) await syncPath(path.join(folder, name));
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_SYNCS }, syncRest));
  for (const entry of entries) if (entry.isDirectory()) await syncTree(path.join(folder, entry.name));
  await syncPath(folder);
}

/** With callbacks: a database has a thousand files, and promises would need twice the CPU time. */
function syncPath(place: string): Promise<void> {
  return new Promise((resolve, reject) => {
    openFile(place, (openError, fd) => {
      if (openError) return reject(openError);
      fsync(fd, (syncError) => {
        close(fd, (closeError) => {
          const error = syncError ?? closeError;
          if (error) reject(error);
          else resolve();
        });
      });
    });
  });
}

function writeSynced(file: string, bytes: Uint8Array | string, { modifiedAt, mode }: Options): Promise<void> {
  return synced(file, "w", mode, async (handle) => {
    if (mode !== undefined) await handle.chmod(mode);
    await handle.writeFile(bytes);
    if (modifiedAt) await handle.utimes(modifiedAt, modifiedAt);
  });
}

/** Opens a file, writes and syncs it. Removes a file that cannot be completed, which would use disk space. */
async function synced<T>(
  file: string,
  flags: "w" | "wx",
  mode: number | undefined,
  write: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  const handle = await open(file, flags, mode);
  try {
    const result = await write(handle);
    await handle.sync();
    return result;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}
