import { cp, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { inject } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { embeddedAdapter } from "@/lib/db/embedded/adapter";
import { type Database, wrap } from "@/lib/db/open";
import { postgresAdapter } from "@/lib/db/server/adapter";

/** The PostgreSQL server of this run; empty where the tests run without one. */
export const postgresUrl = inject("postgresUrl") ?? "";

/** Opens a worker's own database: a copy of the migrated template, on PostgreSQL where the run has it. */
export async function openTestDatabase(folder: string): Promise<Database> {
  if (postgresUrl) {
    const pool = postgresAdapter(await createMigratedDatabase(), 5, () => {});
    return wrap(pool, async () => {}, true);
  }
  const pglite = await openPGlite(folder);
  return wrap(await embeddedAdapter(pglite), () => pglite.close(), true);
}

/** Opens a copy of the migrated embedded database, in `folder` or in one of its own. */
export async function openPGlite(folder?: string): Promise<PGlite> {
  folder ??= await mkdtemp(path.join(tmpdir(), "homeport-pglite-"));
  await cp(inject("templateDataDir"), folder, { recursive: true });
  return PGlite.create({ dataDir: path.join(folder, "db") });
}

/** Creates a migrated database on the run's PostgreSQL server. Returns its URL. */
export const createMigratedDatabase = (): Promise<string> => createDatabase(postgresUrl, inject("templateDatabase"));
