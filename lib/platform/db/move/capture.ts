import { type CopySession, quoted, type Table } from "../copy";

/** A table with the columns of its primary key. */
export type KeyedTable = Table & { key: readonly { name: string; type: string }[] };

const KEYS = `
  SELECT relname AS "table", attname AS name, format_type(atttypid, atttypmod) AS type
  FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
    JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
  WHERE indisprimary AND relnamespace = current_schema()::regnamespace`;

/**
 * Records the keys of rows that are written while tables are copied. `xid` tells which changes a snapshot contains
 * (PostgreSQL 17, 9.28.8). The trigger runs as the tables' owner, regardless of who writes. The move's id is a
 * version 4 UUID: it is only compared, and PostgreSQL 17 cannot create version 7.
 */
const SCHEMA = `
  CREATE SCHEMA homeport_capture;
  CREATE TABLE homeport_capture.move (id uuid NOT NULL);
  INSERT INTO homeport_capture.move VALUES (gen_random_uuid());
  CREATE TABLE homeport_capture.change (
    "table" text NOT NULL, key jsonb NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id());
  CREATE FUNCTION homeport_capture.record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO homeport_capture.change ("table", key)
        SELECT DISTINCT TG_TABLE_NAME, (SELECT jsonb_object_agg(name, written -> name) FROM unnest(TG_ARGV) AS name)
        FROM unnest(ARRAY[to_jsonb(OLD), to_jsonb(NEW)]) AS written WHERE written IS NOT NULL;
      RETURN NULL;
    END $$;
`;

const REMOVE = "DROP SCHEMA IF EXISTS homeport_capture CASCADE";

export async function withKeys({ query }: Pick<CopySession, "query">, tables: readonly Table[]): Promise<KeyedTable[]> {
  const columns = await query<{ table: string; name: string; type: string }>(KEYS);
  return tables.map((table) => {
    const key = columns.filter((column) => column.table === table.name);
    if (key.length === 0) throw new Error(`The table ${table.name} has no primary key.`);
    return { ...table, key };
  });
}

/** Returns the id of the source's unfinished move; null if there is none. */
export async function findCapture({ query }: Pick<CopySession, "query">): Promise<string | null> {
  const found = await query<{ name: string | null }>("SELECT to_regclass('homeport_capture.move')::text AS name");
  if (found[0]?.name === null) return null;
  const rows = await query<{ id: string }>("SELECT id::text FROM homeport_capture.move");
  return rows[0]?.id ?? null;
}

/** Starts recording changes. Returns the id of the move: that of the unfinished one, if there is one. */
export async function startCapture(source: CopySession, tables: readonly KeyedTable[]): Promise<string> {
  const unfinished = await findCapture(source);
  if (unfinished) return unfinished;
  const triggers = tables.map(
    ({ name, key }) => `CREATE TRIGGER homeport_capture AFTER INSERT OR UPDATE OR DELETE ON ${quoted(name)}
      FOR EACH ROW EXECUTE FUNCTION homeport_capture.record(${key.map((column) => `'${column.name}'`).join(", ")});`,
  );
  await source.exec(SCHEMA + triggers.join("\n"));
  return (await findCapture(source)) as string;
}

/** Stops recording changes, and discards those that were recorded. */
export async function stopCapture({ exec }: Pick<CopySession, "exec">): Promise<void> {
  // Writes may have been refused by a setting of the session or of the database.
  await exec(`BEGIN READ WRITE; ${REMOVE}; COMMIT`);
}

export async function changedTables({ query }: Pick<CopySession, "query">, snapshotId: string): Promise<Set<string>> {
  const rows = await query<{ table: string }>(
    `SELECT DISTINCT "table" FROM homeport_capture.change WHERE ${inSnapshotCondition(snapshotId)}`,
  );
  return new Set(rows.map(({ table }) => table));
}

/** The keys of the changed rows of a table, each once, as JSON. */
export async function changedKeys({ query }: Pick<CopySession, "query">, table: Table, snapshotId: string) {
  const sql = `SELECT jsonb_agg(key)::text AS keys FROM (${keysOf(table, snapshotId)}) AS changed`;
  const rows = await query<{ keys: string | null }>(sql);
  return rows[0]?.keys ?? "[]";
}

/** SQL for the rows of a table that were changed and still exist. */
export const changedRows = (table: KeyedTable, snapshotId: string): string =>
  rowsWithKeys(table, keysOf(table, snapshotId));

const keysOf = ({ name }: Table, snapshotId: string) =>
  `SELECT DISTINCT key FROM homeport_capture.change
   WHERE "table" = '${name.replaceAll("'", "''")}' AND ${inSnapshotCondition(snapshotId)}`;

const inSnapshotCondition = (snapshotId: string) => `pg_visible_in_snapshot(xid, '${snapshotId}')`;

/** SQL for the rows of a table whose keys another query selects. */
export const rowsWithKeys = (table: KeyedTable, keys: string): string =>
  `SELECT ${table.columns.map((name) => `t.${quoted(name)}`).join(", ")}
   FROM ${quoted(table.name)} AS t JOIN (${keys}) AS k ON ${sameKeyCondition(table)}`;

/** The SQL condition that the row `t` has the key `k.key`. */
export const sameKeyCondition = ({ key }: KeyedTable): string =>
  key.map(({ name, type }) => `t.${quoted(name)} = (k.key ->> '${name}')::${type}`).join(" AND ");

/** Returns the id of the current snapshot, which tells the changes before it from those after it. */
export async function snapshotIdOf({ query }: Pick<CopySession, "query">): Promise<string> {
  const rows = await query<{ id: string }>("SELECT pg_current_snapshot()::text AS id");
  return rows[0]?.id as string;
}

export async function discardChanges({ query }: Pick<CopySession, "query">, snapshotId: string): Promise<void> {
  await query(`DELETE FROM homeport_capture.change WHERE ${inSnapshotCondition(snapshotId)}`);
}
