import { chmod, mkdir } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import { PrismaPGlite } from "pglite-prisma-adapter";
import { lock } from "proper-lockfile";
import { withScripts } from "./migrations";

/** A lock that was not renewed for this long belonged to a process that is gone. */
const STALE_MS = 5_000;
/** PostgreSQL's default of 128 MB of buffers would be most of the process's memory, and gains nothing here. */
const START_PARAMS = [...PGlite.defaultStartParams, "-c", "shared_buffers=16MB"];

/** The data folder is in use by another process. */
class DataDirInUseError extends Error {
  override readonly name = "DataDirInUseError";
}

export type Embedded = { adapter: SqlMigrationAwareDriverAdapterFactory; close: () => Promise<void> };

/**
 * Opens PGlite in `dataDir/db` and holds a lock on it: PGlite itself lets a second process in, and two
 * processes corrupt each other's files. Waits for a lock left behind by a kill to become stale.
 * @throws DataDirInUseError where another process holds the folder.
 */
export async function openEmbedded(dataDir: string, onLost: (error: Error) => void): Promise<Embedded> {
  const folder = path.join(dataDir, "db");
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700); // PGlite's own files are open to everybody
  const release = await lock(folder, {
    stale: STALE_MS,
    update: 1_000,
    retries: { retries: 7, minTimeout: 1_000, maxTimeout: 1_000 },
    onCompromised: onLost,
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ELOCKED") throw error;
    throw new DataDirInUseError(
      `Another process is using ${folder}. Stop it first, or set DATA_DIR to another folder (DATABASE_URL for several processes).`,
    );
  });
  const pglite = await PGlite.create({ dataDir: folder, startParams: START_PARAMS }).catch(async (error: unknown) => {
    await release();
    throw new Error(`The embedded database in ${folder} cannot be opened: ${(error as Error).message ?? error}`);
  });
  return {
    adapter: await embeddedAdapter(pglite),
    close: async () => {
      await pglite.close();
      await release();
    },
  };
}

/**
 * Prisma's adapter over a PGlite. Its own `executeScript` neither waits nor reports, so a migration that
 * fails would count as applied; and it takes every time for UTC, so the session has to be.
 */
export async function embeddedAdapter(pglite: PGlite): Promise<SqlMigrationAwareDriverAdapterFactory> {
  await pglite.exec("SET TIME ZONE 'UTC'");
  return withScripts(new PrismaPGlite(pglite), (_, script) => pglite.exec(script));
}
