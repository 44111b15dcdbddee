import { open, rename, stat } from "node:fs/promises";
import path from "node:path";

/**
 * Writes a file by temporary file, fsync, rename and fsync of the folder: whole or not at all, should the power go.
 * Who may read one that was there before still may.
 */
export async function writeDurably(file: string, bytes: Uint8Array, modifiedAt?: Date): Promise<void> {
  const temporary = `${file}.tmp`;
  const before = await stat(file).catch(() => null);
  const handle = await open(temporary, "w");
  try {
    if (before) await handle.chmod(before.mode & 0o777);
    await handle.writeFile(bytes);
    if (modifiedAt) await handle.utimes(modifiedAt, modifiedAt);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await moveDurably(temporary, file);
}

/** Renames a file that has been synced, within one file system, so that the new name outlasts a power cut. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  const folder = await open(path.dirname(to));
  await folder.sync().finally(() => folder.close());
}
