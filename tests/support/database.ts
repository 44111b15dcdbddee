import { execFile } from "node:child_process";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { PGlite } from "@electric-sql/pglite";
import { inject } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { type Embedded, openEmbedded } from "@/lib/platform/db/embedded/open";
import { type Database, databaseOf, serverParts } from "@/lib/platform/db/open";
import { postgresAdapter } from "@/lib/platform/db/server/adapter";

/** The PostgreSQL server of this run; empty where the tests run without one. */
export const postgresUrl = inject("postgresUrl") ?? "";

/** Opens a worker's own database: a copy of the migrated template, on PostgreSQL where the run has it. */
export async function openTestDatabase(folder: string): Promise<Database> {
  if (postgresUrl) {
    const url = await createMigratedDatabase();
    return databaseOf(
      postgresAdapter(url, 5, () => {}),
      serverParts(url),
      true,
    );
  }
  const embedded = await openMigratedEmbedded(folder);
  return databaseOf(embedded.adapter, embedded, true);
}

/** Copies the migrated embedded database into a data folder. `cp` takes a fifth of the CPU time of Node's own copy. */
export async function copyEmbeddedDatabase(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await promisify(execFile)("cp", ["-a", `${inject("templateDataDir")}/.`, dataDir]);
}

/** Opens a copy of the migrated embedded database as the service does, but without syncing it to the disk. */
export async function openMigratedEmbedded(folder: string): Promise<Embedded> {
  await copyEmbeddedDatabase(folder);
  return openEmbedded(folder, false, {});
}

/** Opens a copy of the migrated embedded database, without the service's settings. */
export async function openPGlite(): Promise<PGlite> {
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-pglite-"));
  await copyEmbeddedDatabase(folder);
  return PGlite.create({ dataDir: path.join(folder, "db") });
}

/** Creates a migrated database on the run's PostgreSQL server. Returns its URL. */
export const createMigratedDatabase = (): Promise<string> => createDatabase(postgresUrl, inject("templateDatabase"));

/** Makes ANALYZE fail as on a full disk: it computes the values of an index. `exec` runs SQL. */
export async function failAnalyze(exec: (sql: string) => Promise<unknown>): Promise<void> {
  await exec(`
    CREATE FUNCTION not_analyzed(value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
    BEGIN
      IF current_query() = 'ANALYZE' THEN RAISE 'No space left on device' USING ERRCODE = '53100'; END IF;
      RETURN value;
    END $$`);
  await exec('CREATE INDEX ON "Account" (not_analyzed(email))');
}

/** How many connections to the test's database on PostgreSQL wait for a lock. */
export async function countLockWaits(db: Database["client"]): Promise<number> {
  const [row] = await db.$queryRaw<{ count: bigint }[]>`
    SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  return Number(row?.count);
}
