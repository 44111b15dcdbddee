import {
  type CopySession,
  countRows,
  quoted,
  RowSummary,
  type Summary,
  summarized,
  summarizeTable,
  type Table,
} from "../copy";
import {
  changedKeys,
  changedRows,
  changedTables,
  type KeyedTable,
  rowsWithKeys,
  sameKeyCondition,
  snapshotIdOf,
} from "./capture";

/**
 * Copies a table in one transaction, and compares the rows that were written with those that were read. `onBytes` is called
 * for each chunk; if it throws, nothing is copied. @throws Error if the rows differ
 */
export async function copyTable(
  source: Pick<CopySession, "read">,
  target: CopySession,
  table: Table,
  onBytes: (bytes: number) => void,
): Promise<void> {
  await inTransaction(target, async () => {
    const summary = new RowSummary();
    const observed = async function* () {
      for await (const chunk of summarized(source.read(table), summary)) {
        onBytes(chunk.length);
        yield chunk;
      }
    };
    await target.write(table, observed());
    const read = summary.get();
    requireEqual(table, read, await summarizeTable(target, table));
    await target.query("INSERT INTO homeport_move.copied VALUES ($1, $2)", [table.name, read.rows]);
  });
}

/**
 * Copies the rows with recorded changes, in one transaction. If `source` reads a snapshot, the target then has the same
 * state. Returns the number of changed keys, and the snapshot that contains the copied changes.
 * @throws Error if the rows differ
 */
export async function copyChanges(source: CopySession, target: CopySession, tables: readonly KeyedTable[]) {
  const snapshotId = await snapshotIdOf(source);
  const changes = { source, target, snapshotId };
  const changed = await changedTables(source, snapshotId);
  let count = 0;
  await inTransaction(target, async () => {
    // All rows are removed first: a value that is unique may have gone from one row to another.
    for (const table of tables) if (changed.has(table.name)) count += await removeRows(changes, table);
    for (const table of tables) if (changed.has(table.name)) await insertRows(changes, table);
  });
  return { count, snapshotId };
}

type Changes = { source: CopySession; target: CopySession; snapshotId: string };

async function removeRows(changes: Changes, table: KeyedTable): Promise<number> {
  await putKeys(changes, table);
  const { target } = changes;
  await target.query(
    `DELETE FROM ${quoted(table.name)} AS t USING homeport_move.changed AS k WHERE ${sameKeyCondition(table)}`,
  );
  const rows = await target.query<{ keys: number }>("SELECT count(*)::int AS keys FROM homeport_move.changed");
  return rows[0]?.keys ?? 0;
}

async function insertRows(changes: Changes, table: KeyedTable): Promise<void> {
  await putKeys(changes, table);
  const { source, target, snapshotId } = changes;
  const [read, written] = [new RowSummary(), new RowSummary()];
  await target.write(table, summarized(source.select(changedRows(table, snapshotId)), read));
  const copied = target.select(rowsWithKeys(table, "SELECT key FROM homeport_move.changed"));
  for await (const _ of summarized(copied, written));
  requireEqual(table, read.get(), written.get());
}

/** Puts the keys of a table's changed rows into the target. */
async function putKeys({ source, target, snapshotId }: Changes, table: KeyedTable): Promise<void> {
  await target.query("DELETE FROM homeport_move.changed");
  const keys = await changedKeys(source, table, snapshotId);
  await target.query("INSERT INTO homeport_move.changed SELECT jsonb_array_elements($1::jsonb)", [keys]);
}

/** Compares the number of rows of all tables. Returns their sum. @throws Error if they differ */
export async function compareCounts(source: CopySession, target: CopySession, tables: readonly Table[]) {
  let sum = 0;
  for (const table of tables) {
    const [read, written] = await Promise.all([countRows(source, table), countRows(target, table)]);
    if (read !== written) throw new Error(`${table.name} has ${read} rows, and ${written} were copied.`);
    sum += read;
  }
  return sum;
}

async function inTransaction(target: CopySession, run: () => Promise<void>): Promise<void> {
  await target.query("BEGIN");
  try {
    await run();
    await target.query("COMMIT");
  } catch (error) {
    await target.query("ROLLBACK").catch(() => {}); // the connection may be lost
    throw error;
  }
}

function requireEqual({ name }: Table, read: Summary, written: Summary): void {
  if (read.rows === written.rows && read.checksum === written.checksum) return;
  throw new Error(`${name} was not copied correctly: ${read.rows} rows were read, ${written.rows} written.`);
}
