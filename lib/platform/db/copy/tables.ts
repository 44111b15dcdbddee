import { type CopySession, quoted, type Table } from "./session";

/** Prisma's record of the applied migrations. It is not copied: a target's own migrations write it. */
const MIGRATIONS_TABLE = "_prisma_migrations";

/** Unlogged tables are not copied: a crash of the server empties them too. */
const TABLES = `
  SELECT relname AS name, array_agg(attname::text ORDER BY attnum) AS columns
  FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
  WHERE relkind = 'r' AND relpersistence = 'p' AND relnamespace = current_schema()::regnamespace
    AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND relname <> '${MIGRATIONS_TABLE}'
  GROUP BY relname ORDER BY relname`;

const REFERENCES = `
  SELECT t.relname AS "from", r.relname AS "to"
  FROM pg_constraint JOIN pg_class t ON t.oid = conrelid JOIN pg_class r ON r.oid = confrelid
  WHERE contype = 'f' AND connamespace = current_schema()::regnamespace`;

/**
 * The tables of the service, from the catalogs: each after the tables that its foreign keys refer to.
 * @throws Error if foreign keys form a circle
 */
export async function listTables({ query }: Pick<CopySession, "query">): Promise<Table[]> {
  const tables = await query<Table>(TABLES);
  const references = await query<{ from: string; to: string }>(REFERENCES);
  const sorted: Table[] = [];
  let left = tables;
  while (left.length > 0) {
    const waiting = new Set(left.map(({ name }) => name));
    const isReady = ({ name }: Table) => !references.some(({ from, to }) => from === name && waiting.has(to));
    const ready = left.filter(isReady);
    if (ready.length === 0) throw new Error(`Foreign keys form a circle: ${[...waiting].join(", ")}`);
    sorted.push(...ready);
    left = left.filter((table) => !ready.includes(table));
  }
  return sorted;
}

/** The names of the applied migrations, oldest first; empty for an empty database. They are the schema's version. */
export async function appliedMigrations({ query }: Pick<CopySession, "query">): Promise<string[]> {
  const found = await query<{ name: string | null }>(`SELECT to_regclass('${MIGRATIONS_TABLE}')::text AS name`);
  if (found[0]?.name === null) return [];
  const rows = await query<{ name: string }>(
    `SELECT migration_name AS name FROM ${MIGRATIONS_TABLE}
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name COLLATE "C"`,
  );
  return rows.map(({ name }) => name);
}

/** The names of the tables that have rows. */
export async function tablesWithRows(session: Pick<CopySession, "query">, tables: readonly Table[]): Promise<string[]> {
  const names: string[] = [];
  for (const { name } of tables) {
    const rows = await session.query(`SELECT 1 FROM ${quoted(name)} LIMIT 1`);
    if (rows.length > 0) names.push(name);
  }
  return names;
}
