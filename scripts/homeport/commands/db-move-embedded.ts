import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../../../lib/errors";
import { readMoved, unmarkMoved } from "../../../lib/platform/db/embedded/moved-folder";
import type { AdminApi } from "../transport/admin-api";
import type { Databases, Moved, OnProgress } from "./db-next-steps";

const POLL_MS = 250;

/**
 * Moves the embedded database of the folder: by the service that runs on it, or in this process.
 * @throws CommandError with what the service says
 */
export async function moveEmbedded(api: AdminApi, { to, dataDir }: Databases, onProgress: OnProgress): Promise<Moved> {
  const complete = await resumeMoved(dataDir, to as string);
  if (complete) return complete;
  let status = await api.call("moveDatabase", { body: { to: to as string } });
  while (status.state === "running") {
    if (status.step) onProgress({ step: status.step, share: status.share });
    await delay(POLL_MS);
    status = await api.call("getDatabaseMove");
  }
  if (status.error) throw new CommandError(status.error.code, status.error.message);
  if (!status.result || !status.to)
    throw new CommandError("interrupted", "The service has stopped. Repeat the command.");
  return { from: dataDir, to: status.to, ...status.result };
}

/** Forgets a move, and removes the mark of a folder whose data has moved. */
export async function cancelEmbeddedMove(api: AdminApi, dataDir: string): Promise<void> {
  await unmarkMoved(dataDir);
  await api.call("cancelDatabaseMove");
}

/**
 * A move may have been killed after it marked the folder: before the new database could be used, it is continued; after that, it is
 * complete. Returns what was moved; null if it is not complete.
 */
async function resumeMoved(dataDir: string, to: string): Promise<Moved | null> {
  const mark = await readMoved(dataDir);
  if (!mark) return null;
  const { openServerTarget } = await import("../../../lib/platform/db/move/server");
  const { findMove } = await import("../../../lib/platform/db/move/target");
  const { countRows, listTables } = await import("../../../lib/platform/db/copy");
  const { name, session, close } = await openServerTarget(to);
  try {
    if (await findMove(session)) await unmarkMoved(dataDir);
    else if (mark.to === name) {
      const tables = await listTables(session);
      let rows = 0;
      for (const table of tables) rows += await countRows(session, table);
      if (rows > 0) return { from: dataDir, to: name, rows, tables: tables.length, resumedTables: 0, pausedMs: null };
    }
    return null;
  } finally {
    await close();
  }
}
