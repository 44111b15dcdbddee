import type { CopySession } from "../copy/session";

/**
 * The target's keys and indexes. They are removed while tables are copied, because rows that change in the meantime may
 * be copied twice or before those that they refer to, and because an index is built faster than it is maintained.
 */
export const DEFINITIONS = `
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

type Definition = {
  name: string;
  table: string;
  isForeignKey: boolean;
  exists: boolean;
  remove: string;
  create: string;
};

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
  for (const [index, definition] of missing.entries()) {
    onProgress(index / missing.length);
    await create(target, definition);
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

async function create({ exec }: CopySession, { name, table, create: sql }: Definition): Promise<void> {
  await exec(
    `${sql}; UPDATE homeport_move.definition SET "exists" = true WHERE name = '${name}' AND "table" = '${table}'`,
  );
}
