import { appliedMigrations, type CopySession, type CopySnapshot, listTables, type Table } from "../copy";
import { discardChanges, type KeyedTable, startCapture, stopCapture, withKeys } from "./capture";
import { compareCounts, copyChanges, copyTable } from "./rows";
import {
  createForeignKeys,
  createIndexes,
  inspectTarget,
  type MoveTarget,
  prepareTarget,
  removeDefinitions,
  requireThisVersion,
  validateForeignKeys,
} from "./target";

/** The database that is moved. Others may write to it until it is paused. */
export type Source = {
  /** Its URL without the password, or its folder. */
  name: string;
  /** Reads while others write. */
  session: CopySession;
  /** Opens the state of one moment. */
  openSnapshot: () => Promise<CopySnapshot>;
  /** The same, and makes writes wait until it is closed. */
  pause: (tables: readonly Table[]) => Promise<CopySnapshot>;
  /** Makes the database refuse writes for good, and say where it has moved to. Called while it is paused. */
  retire: (to: string) => Promise<void>;
  /** Undoes that. */
  reinstate: () => Promise<void>;
};

/** The progress of a move: its current step, and the share of that step that is done, from 0 to 1. */
export type MoveProgress = { step: "copying" | "indexing" | "finishing"; share: number };

export type MoveHooks = {
  onProgress: (progress: MoveProgress) => void;
  /** Ends the move between two chunks. Ignored once writes are paused. */
  signal: AbortSignal;
  /** Called before writes are paused, to write what is held in memory. */
  beforePause: () => Promise<unknown>;
};

/** What was moved: rows, tables that an earlier attempt had copied, and how long writes waited, in milliseconds. */
export type MoveResult = { rows: number; tables: number; resumedTables: number; pausedMs: number };

/** Writes are paused once fewer changes than this are left, which are then copied. */
const MAX_FINAL_CHANGES = 200;
const MAX_ROUNDS = 10;
/** SQLSTATE unique_violation. */
const UNIQUE_VIOLATION = "23505";
/** After this time the move fails, and writes continue. */
const MAX_PAUSE_MS = 60_000;

/**
 * Moves all rows to another database while the source is in use: copies the tables, creates the keys and indexes,
 * copies the rows that changed in the meantime, then pauses writes and copies the last changes. The source is then
 * read-only.
 * A move that was interrupted continues with the tables that it has not copied, and with all changes since.
 * @throws MoveError if the databases do not allow it; Error if a copy differs
 */
export async function moveDatabase(source: Source, target: MoveTarget, hooks: MoveHooks): Promise<MoveResult> {
  const { session } = source;
  hooks.signal.throwIfAborted();
  await requireThisVersion(source.name, await appliedMigrations(session));
  const tables = await withKeys(session, await listTables(session));
  await inspectTarget(target); // changes are recorded only if the target can be used
  const copied = await prepareTarget(target, await startCapture(session, tables));
  await copyTables(source, target, tables, copied, hooks);
  await removeDefinitions(target.session, { isAll: false }); // foreign keys of an attempt that ended below
  await copyUntilFew(source, target, tables, hooks);
  await copySnapshot(source, target, tables);
  await createIndexes(target.session, (share) => {
    hooks.signal.throwIfAborted();
    hooks.onProgress({ step: "indexing", share });
  });
  hooks.onProgress({ step: "finishing", share: 0 });
  await copyUntilFew(source, target, tables, hooks);
  await hooks.beforePause();
  hooks.signal.throwIfAborted();
  const end = await copyLastChanges(source, target, tables, hooks);
  await stopCapture(session).catch(() => {}); // the source is not used any more; `homeport db move --cancel` repeats it
  return { ...end, tables: tables.length, resumedTables: copied.size };
}

async function copyTables(
  { session }: Source,
  target: MoveTarget,
  tables: readonly KeyedTable[],
  copied: ReadonlySet<string>,
  { onProgress, signal }: MoveHooks,
): Promise<void> {
  const sizes = await sizesOf(session);
  const totalBytes = tables.reduce((sum, { name }) => sum + (sizes.get(name) ?? 0), 1);
  let doneBytes = 0;
  for (const table of tables) {
    const startBytes = doneBytes;
    doneBytes += sizes.get(table.name) ?? 0;
    if (copied.has(table.name)) continue;
    let bytes = startBytes;
    await copyTable(session, target.session, table, (chunkBytes) => {
      signal.throwIfAborted();
      bytes += chunkBytes;
      onProgress({ step: "copying", share: Math.min(bytes, doneBytes) / totalBytes });
    });
  }
}

/** The sizes of the tables on the disk, in bytes. A copy is about as large. */
async function sizesOf({ query }: CopySession): Promise<Map<string, number>> {
  const rows = await query<{ name: string; bytes: number }>(
    "SELECT relname AS name, pg_table_size(oid) AS bytes FROM pg_class WHERE relnamespace = current_schema()::regnamespace",
  );
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

/**
 * Copies changes while others are made, until few are left. Rows are of different moments, so a unique value may still be in
 * another row of the target: then the rest is left to the next step.
 */
async function copyUntilFew(
  { session }: Source,
  target: MoveTarget,
  tables: readonly KeyedTable[],
  { signal }: MoveHooks,
): Promise<void> {
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    signal.throwIfAborted();
    try {
      const { count, snapshotId } = await copyChanges(session, target.session, tables);
      await discardChanges(session, snapshotId);
      if (count < MAX_FINAL_CHANGES) return;
    } catch (error) {
      if ((error as { code?: string }).code === UNIQUE_VIOLATION) return;
      throw error;
    }
  }
}

/** Copies the changes up to one moment: the target then satisfies the source's unique indexes. */
async function copySnapshot(source: Source, target: MoveTarget, tables: readonly KeyedTable[]): Promise<void> {
  const { snapshotId } = await within(target, source.openSnapshot, (snapshot) =>
    copyChanges(snapshot, target.session, tables),
  );
  await discardChanges(source.session, snapshotId);
}

/** Runs what writes wait for. If the target does not respond in time, it is closed, and writes continue. */
async function within<T>(
  target: MoveTarget,
  open: () => Promise<CopySnapshot>,
  run: (one: CopySnapshot) => Promise<T>,
): Promise<T> {
  const snapshot = await open();
  const deadline = setTimeout(() => void target.close(), MAX_PAUSE_MS);
  try {
    return await run(snapshot);
  } finally {
    clearTimeout(deadline);
    await snapshot.close();
  }
}

async function copyLastChanges(
  source: Source,
  target: MoveTarget,
  tables: readonly KeyedTable[],
  { onProgress }: MoveHooks,
): Promise<Pick<MoveResult, "rows" | "pausedMs">> {
  const pause = () => source.pause(tables);
  return within(target, pause, async (snapshot) => {
    const startMs = performance.now();
    onProgress({ step: "finishing", share: 0.2 });
    await copyChanges(snapshot, target.session, tables);
    await createForeignKeys(target.session);
    onProgress({ step: "finishing", share: 0.4 });
    const rows = await compareCounts(snapshot, target.session, tables);
    onProgress({ step: "finishing", share: 0.7 });
    await validateForeignKeys(target.session);
    await target.session.exec(`UPDATE homeport_move.move SET "isComplete" = true`);
    await switchOver(source, target);
    return { rows, pausedMs: performance.now() - startMs };
  });
}

/**
 * Lets a service use the target instead of the source. After an error the source is used as before, unless a service may use the
 * target already. @throws the error
 */
async function switchOver(source: Source, target: MoveTarget): Promise<void> {
  try {
    await source.retire(target.name);
    await target.session.exec("DROP SCHEMA homeport_move CASCADE"); // from now on a service may use the database
  } catch (error) {
    const isUnfinished = await target.isUnfinished().catch(() => true);
    if (!isUnfinished) return; // the response was lost, not the change
    await source.reinstate();
    throw error;
  }
}
