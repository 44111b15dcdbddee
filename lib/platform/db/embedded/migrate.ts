import type { PGlite } from "@electric-sql/pglite";
import { applyMigrations, migrationNames } from "../migrations";
import { embeddedAdapter } from "./adapter";

/** SQLSTATEs of a script that has already run: a table, column or other object already exists, or no longer exists. */
const HAS_RUN = new Set(["42P07", "42701", "42710", "42723", "42P01", "42703", "42704"]);

/**
 * Applies the pending migrations, or those of `upTo`, each in one transaction with its record: an interrupted migration is
 * rolled back, and the next start applies it. A new database gets all of them in one transaction, which takes less than half the
 * time. Returns the names of the applied migrations.
 * @throws Error with the name of the migration that failed and the database's error message
 */
export async function migrateEmbedded(pglite: PGlite, upTo?: readonly string[]): Promise<string[]> {
  const names = upTo ?? (await migrationNames());
  const isDone = !(await hasRecords(pglite)) && (await applyInTransaction(pglite, names)) === null;
  const applied = isDone ? [...names] : await applyOneByOne(pglite, names);
  // PGlite reads the array types when it opens, so it does not know those that a migration has created.
  if (applied.length > 0) await pglite.refreshArrayTypes();
  return applied;
}

async function applyOneByOne(pglite: PGlite, names: readonly string[]): Promise<string[]> {
  const applied: string[] = [];
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
  const wasInterrupted = (await hasRecords(pglite)) && (await markInterrupted(pglite, name));
  const failure = await applyInTransaction(pglite, upTo);
  if (failure === null) return;
  if (wasInterrupted && HAS_RUN.has(failure.code ?? "")) return markApplied(pglite, name);
  throw new Error(`${name} failed and was rolled back: ${failure.message}`, { cause: failure });
}

type ScriptError = Error & { code?: string };

/** Applies those of the migrations that are pending. Returns the error of a script, after which nothing is applied. */
async function applyInTransaction(pglite: PGlite, names: readonly string[]): Promise<ScriptError | null> {
  let failure: ScriptError | null = null;
  try {
    await pglite.transaction(async (tx) => {
      const exec: PGlite["exec"] = (script, options) =>
        tx.exec(script, options).catch((error: Error) => {
          failure ??= error;
          throw error;
        });
      // The adapter calls only these two methods of its client.
      const client = { query: tx.query, exec } as unknown as PGlite;
      await applyMigrations(await embeddedAdapter(client), names);
    });
  } catch (error) {
    if (!failure) throw error;
  }
  return failure;
}

/**
 * Marks an unfinished record of a migration as rolled back, and returns whether there was one. Earlier versions
 * committed the record and the migration separately, and could be killed between the two.
 */
async function markInterrupted(pglite: PGlite, name: string): Promise<boolean> {
  const { affectedRows } = await pglite.query(
    `UPDATE _prisma_migrations SET rolled_back_at = now()
     WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL`,
    [name],
  );
  return (affectedRows ?? 0) > 0;
}

/** Marks a migration as applied. Its script ran as one implicit transaction, so it was applied completely. */
async function markApplied(pglite: PGlite, name: string): Promise<void> {
  await pglite.query(
    `UPDATE _prisma_migrations SET rolled_back_at = NULL, finished_at = now(), applied_steps_count = 1, logs = NULL
     WHERE id = (SELECT id FROM _prisma_migrations WHERE migration_name = $1 ORDER BY started_at DESC LIMIT 1)`,
    [name],
  );
}
