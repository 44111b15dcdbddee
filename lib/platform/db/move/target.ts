import { appliedMigrations, type CopySession, listTables, type Table, tablesWithRows } from "../copy";
import { migrationNames } from "../migrations";

/** The database that tables are copied into. */
export type MoveTarget = {
  /** Its URL without the password, or its folder. */
  name: string;
  session: CopySession;
  migrate: () => Promise<unknown>;
  /** Whether it has the record of an unfinished move. Closes the session, whose connection may be lost, and connects again. */
  isUnfinished: () => Promise<boolean>;
  close: () => Promise<void>;
};

/** What a target contains: nothing, the tables of this build without rows, or an unfinished move. */
type TargetState = "empty" | "migrated" | "unfinished";

/** The target's record of an unfinished move: no service uses the database while it exists (lib/platform/db/open.ts). */
const RECORD = `
  CREATE SCHEMA homeport_move;
  CREATE TABLE homeport_move.move (id uuid, "isComplete" boolean NOT NULL);
  INSERT INTO homeport_move.move VALUES (NULL, false);
  CREATE TABLE homeport_move.copied ("table" text PRIMARY KEY, rows bigint NOT NULL);
  CREATE TABLE homeport_move.changed (key jsonb NOT NULL);
`;

const OTHER_TABLES = `
  SELECT relname AS name FROM pg_class
  WHERE relkind IN ('r', 'p', 'v', 'm') AND relnamespace = current_schema()::regnamespace ORDER BY 1`;

/** The database cannot be moved from the source, or to the target. The message says why. */
export class MoveError extends Error {
  override readonly name = "MoveError";
  readonly code = "move_refused";
}

/** @throws MoveError for a target with rows, with other tables, or with the schema of another version */
export async function inspectTarget({ name, session }: Pick<MoveTarget, "name" | "session">): Promise<TargetState> {
  if (await findMove(session)) return "unfinished";
  const applied = await appliedMigrations(session);
  if (applied.length === 0) {
    const tables = (await session.query<{ name: string }>(OTHER_TABLES)).map((table) => table.name);
    if (tables.length === 0) return "empty";
    throw new MoveError(`${name} is not empty: it contains ${sample(tables)}. Create a new database.`);
  }
  await requireThisVersion(name, applied);
  const filled = await tablesWithRows(session, await listTables(session));
  if (filled.length === 0) return "migrated";
  throw new MoveError(`${name} is not empty: there are rows in ${sample(filled)}. Create a new database.`);
}

/** @throws MoveError if the migrations of a database are not those of this build */
export async function requireThisVersion(name: string, applied: readonly string[]): Promise<void> {
  const own = await migrationNames();
  const unknown = applied.filter((migration) => !own.includes(migration));
  const missing = own.filter((migration) => !applied.includes(migration));
  if (unknown.length === 0 && missing.length === 0) return;
  const why = unknown.length > 0 ? `a newer one (${unknown.at(-1)})` : `an older one (without ${missing[0]})`;
  throw new MoveError(`${name} has the schema of another version, ${why}. Use the same version for both databases.`);
}

/**
 * Prepares the target for the move with the given id: creates the tables, or continues an unfinished move. What a move of
 * another id has copied is removed: the source no longer has the changes since. Returns the tables that are copied.
 */
export async function prepareTarget(target: MoveTarget, id: string): Promise<Set<string>> {
  const { session } = target;
  const state = await inspectTarget(target);
  if (state === "empty") await target.migrate();
  if (state !== "unfinished") {
    await session.exec(RECORD + DEFINITIONS);
    await removeDefinitions(session, { isAll: true });
  }
  const move = await findMove(session);
  if (move?.id !== id) await restartMove(session, id);
  const rows = await session.query<{ table: string }>(`SELECT "table" FROM homeport_move.copied`);
  return new Set(rows.map(({ table }) => table));
}

/** Returns the unfinished move into a database; null if there is none. */
export async function findMove({ query }: Pick<CopySession, "query">) {
  const found = await query<{ name: string | null }>("SELECT to_regclass('homeport_move.move')::text AS name");
  if (found[0]?.name === null) return null;
  const moves = await query<{ id: string | null; isComplete: boolean }>(
    `SELECT id::text, "isComplete" FROM homeport_move.move`,
  );
  return moves[0] ?? { id: null, isComplete: false };
}

/** Empties the tables: those of an unfinished move contain only what it has copied. */
async function restartMove(session: CopySession, id: string): Promise<void> {
  await removeDefinitions(session, { isAll: true });
  const tables = await listTables(session);
  const names = tables.map(({ name }: Table) => `"${name}"`).join(", ");
  await session.exec(
    `TRUNCATE ${names}; TRUNCATE homeport_move.copied; UPDATE homeport_move.move SET id = '${id}', "isComplete" = false`,
  );
}

const MAX_NAMES = 3;

function sample(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/**
 * The target's keys and indexes. They are removed while tables are copied, because rows that change in the meantime may
 * be copied twice or before those that they refer to, and because an index is built faster than it is maintained.
 */
const DEFINITIONS = `
  CREATE TABLE homeport_move.definition AS
  SELECT conname::text AS name, contype = 'f' AS "isForeignKey", conrelid::regclass::text AS "table", true AS "exists",
    format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS remove,
    format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS create
  FROM pg_constraint
  WHERE connamespace = current_schema()::regnamespace AND contype IN ('p', 'u', 'f')
    AND conrelid <> '_prisma_migrations'::regclass
  UNION ALL
  SELECT relname::text, false, indrelid::regclass::text, true, format('DROP INDEX %s', indexrelid::regclass),
    pg_get_indexdef(indexrelid)
  FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE relnamespace = current_schema()::regnamespace AND indrelid <> '_prisma_migrations'::regclass
    AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'));
`;

type Definition = { name: string; table: string; remove: string; create: string };

const list = ({ query }: CopySession, isForeignKey: boolean, exists: boolean) =>
  query<Definition>(
    `SELECT * FROM homeport_move.definition WHERE "isForeignKey" = $1 AND "exists" = $2 ORDER BY "table", name`,
    [isForeignKey, exists],
  );

/** Removes the foreign keys; with `isAll` also the primary keys and indexes. */
export async function removeDefinitions(target: CopySession, { isAll }: { isAll: boolean }): Promise<void> {
  const found = [...(await list(target, true, true)), ...(isAll ? await list(target, false, true) : [])];
  const scripts = found.map(({ remove }) => `${remove};`);
  const where = isAll ? "" : `WHERE "isForeignKey"`;
  await target.exec(`${scripts.join("\n")} UPDATE homeport_move.definition SET "exists" = false ${where};`);
}

/** Creates the primary keys and indexes. Reports the share that exists. */
export async function createIndexes(target: CopySession, onProgress: (share: number) => void): Promise<void> {
  const missing = await list(target, false, false);
  for (const [index, { name, table, create }] of missing.entries()) {
    onProgress(index / missing.length);
    await target.exec(
      `${create}; UPDATE homeport_move.definition SET "exists" = true WHERE name = '${name}' AND "table" = '${table}'`,
    );
  }
}

/** Creates the foreign keys, which are checked later: new rows are checked at once. */
export async function createForeignKeys(target: CopySession): Promise<void> {
  const found = await list(target, true, false);
  const scripts = found.map(({ create }) => `${create} NOT VALID;`);
  await target.exec(`${scripts.join("\n")} UPDATE homeport_move.definition SET "exists" = true;`);
}

/** Checks the foreign keys. @throws the database's error for a row that refers to a missing one */
export async function validateForeignKeys(target: CopySession): Promise<void> {
  for (const { table, name } of await list(target, true, true)) {
    await target.query(`ALTER TABLE ${table} VALIDATE CONSTRAINT "${name}"`);
  }
}
