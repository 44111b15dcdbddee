import type { PGlite } from "@electric-sql/pglite";
import { applyMigrations, migrationNames } from "../migrations";
import { embeddedAdapter } from "./adapter";

/** What PostgreSQL answers to a script that has run: a table, column or other object exists already, or does no longer. */
const HAS_RUN = new Set(["42P07", "42701", "42710", "42P01", "42703", "42704"]);

/**
 * Applies what is missing, each migration and its record in one transaction: one that was cut off leaves nothing, and the
 * next start applies it. Returns the names of the migrations applied.
 * @throws Error with the migration's name and the database's words
 */
export async function migrateEmbedded(pglite: PGlite): Promise<string[]> {
  const applied: string[] = [];
  const names = await migrationNames();
  for (const [index, name] of names.entries()) {
    if (await isApplied(pglite, name)) continue;
    await applyOne(pglite, name, names.slice(0, index + 1));
    applied.push(name);
  }
  return applied;
}

async function isApplied(pglite: PGlite, name: string): Promise<boolean> {
  if (!(await hasRecords(pglite))) return false;
  const { rows } = await pglite.query(
    `SELECT 1 FROM _prisma_migrations WHERE migration_name = $1 AND finished_at IS NOT NULL AND rolled_back_at IS NULL`,
    [name],
  );
  return rows.length > 0;
}

async function hasRecords(pglite: PGlite): Promise<boolean> {
  const { rows } = await pglite.query("SELECT 1 FROM pg_tables WHERE tablename = '_prisma_migrations'");
  return rows.length > 0;
}

async function applyOne(pglite: PGlite, name: string, upTo: string[]): Promise<void> {
  const isCutOff = (await hasRecords(pglite)) && (await markCutOff(pglite, name));
  let refusal: { code?: string; message: string } | undefined;
  try {
    await pglite.transaction(async (tx) => {
      const exec: PGlite["exec"] = (script, options) =>
        tx.exec(script, options).catch((error: Error) => {
          refusal ??= error;
          throw error;
        });
      // The engine asks its client for these two alone.
      const client = { query: tx.query, exec } as unknown as PGlite;
      await applyMigrations(await embeddedAdapter(client), upTo);
    });
  } catch (error) {
    if (!refusal) throw error;
    if (isCutOff && HAS_RUN.has(refusal.code ?? "")) return markApplied(pglite, name);
    throw new Error(`${name} is refused, and nothing of it is left: ${refusal.message}`, { cause: error });
  }
}

/** An earlier version kept the record apart from the migration, and was killed between them. Returns whether it was. */
async function markCutOff(pglite: PGlite, name: string): Promise<boolean> {
  const { affectedRows } = await pglite.query(
    `UPDATE _prisma_migrations SET rolled_back_at = now()
     WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL`,
    [name],
  );
  return (affectedRows ?? 0) > 0;
}

/** Its script ran as one statement, so all of it is there. */
async function markApplied(pglite: PGlite, name: string): Promise<void> {
  await pglite.query(
    `UPDATE _prisma_migrations SET rolled_back_at = NULL, finished_at = now(), applied_steps_count = 1, logs = NULL
     WHERE id = (SELECT id FROM _prisma_migrations WHERE migration_name = $1 ORDER BY started_at DESC LIMIT 1)`,
    [name],
  );
}
