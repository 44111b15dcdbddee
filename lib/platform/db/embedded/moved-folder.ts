import { rm } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { readJsonFile, writeDurably } from "../../files/durable";

/** Where and when the data of a folder has moved. `to` has no password. */
const Moved = z.object({ to: z.string(), at: z.iso.datetime() });
type Moved = z.infer<typeof Moved>;

const fileIn = (dataDir: string) => path.join(dataDir, "moved.json");

/** The data of a folder has moved to another database. */
class DataMovedError extends Error {
  override readonly name = "DataMovedError";
}

/** Marks a folder as moved: its database is not opened any more. */
export async function markMoved(dataDir: string, to: string, now: Date): Promise<void> {
  const moved: Moved = { to, at: now.toISOString() };
  await writeDurably(fileIn(dataDir), `${JSON.stringify(moved)}\n`, { mode: 0o600 });
}

/** Removes the mark. Returns whether there was one. */
export async function unmarkMoved(dataDir: string): Promise<boolean> {
  const wasMoved = (await readMoved(dataDir)) !== null;
  await rm(fileIn(dataDir), { force: true });
  return wasMoved;
}

export const readMoved = (dataDir: string): Promise<Moved | null> => readJsonFile(fileIn(dataDir), Moved);

/** @throws DataMovedError for a folder whose data has moved */
export async function assertNotMoved(dataDir: string): Promise<void> {
  const moved = await readMoved(dataDir);
  if (!moved) return;
  throw new DataMovedError(
    `The data of ${dataDir} has moved to ${moved.to} (${moved.at}). Set DATABASE_URL to that database. To use this folder ` +
      "again, without what was written there since, run `homeport db move --cancel`.",
  );
}
