import { readdir, rm, stat } from "node:fs/promises";
import path from "node:path";

/**
 * Removes the mails (`.eml`) and notifications (`.push.json`) of a folder that were written before a time, and what a
 * kill left half written: they hold links and tokens. Other files stay. Returns how many were removed; 0 where there is
 * no such folder.
 */
export async function removeOldFiles(folder: string, before: Date): Promise<number> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  let removed = 0;
  for (const name of names.filter((each) => /\.(eml|push\.json)(\.tmp)?$/.test(each))) {
    const file = path.join(folder, name);
    const { mtime } = await stat(file);
    if (mtime >= before) continue;
    await rm(file, { force: true });
    removed += 1;
  }
  return removed;
}
