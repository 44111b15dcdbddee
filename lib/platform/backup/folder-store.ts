import { createReadStream } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { makeFolder, moveDurably, writeChunks } from "../files/durable";
import type { BackupStore } from "./backup-store";

/** The ending of an unfinished file. */
export const PARTIAL = ".partial";
/** Older unfinished files are of backups that were killed. */
const MAX_PARTIAL_AGE_MS = 24 * 60 * 60 * 1000;

/** Backups in a folder, which is created. Files are readable by their owner alone. */
export function createFolderStore(folder: string): BackupStore {
  return {
    isRemote: false,
    write: async (name, chunks) => {
      await makeFolder(folder, 0o700);
      await removeOldPartials(folder);
      const temporary = path.join(folder, `${name}${PARTIAL}`);
      const sizeBytes = await writeChunks(temporary, chunks, 0o600);
      await moveDurably(temporary, path.join(folder, name));
      return sizeBytes;
    },
    read: (name) => createReadStream(path.join(folder, name)),
    list: () => readdir(folder),
    remove: (name) => rm(path.join(folder, name)),
  };
}

/** Removes the unfinished files of backups that were killed. */
export async function removeOldPartials(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/^homeport-.*\.backup\.partial$/.test(name)) continue;
    const file = path.join(folder, name);
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > MAX_PARTIAL_AGE_MS) await rm(file, { force: true });
  }
}
