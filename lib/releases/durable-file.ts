import { open, rename } from "node:fs/promises";
import path from "node:path";

/** Writes a file by temporary file, fsync, rename and fsync of the folder: whole or not at all, should the power go. */
export async function writeDurably(file: string, bytes: Uint8Array, modifiedAt?: Date): Promise<void> {
  const temporary = `${file}.tmp`;
  const handle = await open(temporary, "w");
  try {
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
