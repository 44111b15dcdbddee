import { link, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";

/** File systems write what is synced at the same time at once. */
const PARALLEL_SYNCS = 8;

type Options = {
  modifiedAt?: Date;
  /** Permissions of a new file. A file that was there before keeps its own. */
  mode?: number;
};

/** Writes a file by temporary file, fsync, rename and fsync of the folder: whole or not at all after a power cut. */
export async function writeDurably(file: string, bytes: Uint8Array | string, options: Options = {}): Promise<void> {
  const temporary = `${file}.tmp`;
  const before = await stat(file).catch(() => null);
  await writeSynced(temporary, bytes, { ...options, mode: before ? before.mode & 0o777 : options.mode });
  await moveDurably(temporary, file);
}

/**
 * The same for a file that nobody else may have made meanwhile. Returns whether this call made it; false where it was
 * there already, which leaves it as it is.
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
    await syncFolder(path.dirname(file));
  }
}

/** Renames a file or folder that has been synced, within one file system, so that the new name outlasts a power cut. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(path.dirname(to));
}

/** Makes a folder, and those above it where they are missing, so that their names outlast a power cut. */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode });
  if (first === undefined) return;
  const above = path.dirname(path.resolve(first));
  for (let place = path.dirname(path.resolve(folder)); place.length >= above.length; place = path.dirname(place)) {
    await syncFolder(place);
    if (place === above) return;
  }
}

/** Syncs a folder and all that is in it. */
export async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).values();
  const syncRest = async () => {
    for (const { name } of files) await syncPath(path.join(folder, name));
  };
  await Promise.all(Array.from({ length: PARALLEL_SYNCS }, syncRest));
  for (const entry of entries) if (entry.isDirectory()) await syncTree(path.join(folder, entry.name));
  await syncFolder(folder);
}

/** Syncs the names in a folder: what was created, renamed or removed in it. */
const syncFolder = (folder: string): Promise<void> => syncPath(folder);

async function syncPath(place: string): Promise<void> {
  const handle = await open(place);
  await handle.sync().finally(() => handle.close());
}

async function writeSynced(file: string, bytes: Uint8Array | string, { modifiedAt, mode }: Options): Promise<void> {
  const handle = await open(file, "w", mode);
  try {
    if (mode !== undefined) await handle.chmod(mode);
    await handle.writeFile(bytes);
    if (modifiedAt) await handle.utimes(modifiedAt, modifiedAt);
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true }); // half a file would keep what room there is
    throw error;
  } finally {
    await handle.close();
  }
}
