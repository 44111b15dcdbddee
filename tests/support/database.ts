import { cp } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { inject } from "vitest";
import { embeddedAdapter } from "@/lib/db/embedded/adapter";
import { type Database, postgresAdapter, wrap } from "@/lib/db/open";
import { createDatabase } from "@/tests/support/process/postgres";

/** The PostgreSQL server of this run; empty where the tests run without one. */
export const postgresUrl = inject("postgresUrl") ?? "";

/** Opens a worker's own database: a copy of the migrated template, on PostgreSQL where the run has it. */
export async function openTestDatabase(folder: string): Promise<Database> {
  if (postgresUrl) {
    const pool = postgresAdapter(await createMigratedDatabase(), 5, () => {});
    return wrap(pool, async () => {}, true);
  }
  await cp(inject("templateDataDir"), folder, { recursive: true });
  const pglite = await PGlite.create({ dataDir: path.join(folder, "db") });
  return wrap(await embeddedAdapter(pglite), () => pglite.close(), true);
}

/** Creates a migrated database on the run's PostgreSQL server. Returns its URL. */
export const createMigratedDatabase = (): Promise<string> => createDatabase(postgresUrl, inject("templateDatabase"));
