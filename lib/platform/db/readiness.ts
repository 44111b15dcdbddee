import { isStorageFull } from "../errors/database-errors";
import { Prisma, type PrismaClient } from "./generated/client";

/** Why writes would fail: the database is unavailable, or its storage is full. */
export type WriteFailure = "database" | "storage";

/**
 * Deletes no rows. Like a write, it fails in a read-only session. Unlike a write, it assigns no transaction id and writes
 * no WAL. One table is enough for the embedded database, where no other session can lock a table.
 */
const WRITES_NOTHING = `WITH d AS (DELETE FROM "${Prisma.ModelName.RateLimit}" WHERE false) SELECT 1`;

const deletes = Object.values(Prisma.ModelName).map(
  (table, index) => `d${index} AS (DELETE FROM "${table}" WHERE false)`,
);

/**
 * Deletes no rows, from every table: it fails on a standby or a read-only server, and while ALTER TABLE or CREATE INDEX
 * locks a table. Writes a temporary file of 200 kB on the server, which fails with 53100 if the disk is full.
 */
const WRITES_TEMPORARILY = Prisma.raw(
  `WITH ${deletes}, setting AS MATERIALIZED (SELECT set_config('work_mem', '64kB', true) AS memory)
   SELECT count(*) FROM setting, generate_series(1, 5000 + length(setting.memory))`,
);

/**
 * Shorter than PostgreSQL's `deadlock_timeout` of 1 s: if this check and a migration waited for each other's tables,
 * PostgreSQL could otherwise end the migration as the victim of the deadlock.
 */
const LOCK_TIMEOUT = Prisma.sql`SELECT set_config('lock_timeout', '500ms', true)`;

/**
 * Checks whether writes to a PostgreSQL server would succeed: null, or why they would fail. Waits at most 500 ms for a
 * locked table.
 */
export function checkServerWrites(client: PrismaClient): Promise<WriteFailure | null> {
  return failureOf(() => client.$transaction([client.$queryRaw(LOCK_TIMEOUT), client.$queryRaw(WRITES_TEMPORARILY)]));
}

/** As above, for the embedded database. `query` runs a statement. */
export function checkEmbeddedWrites(query: (sql: string) => Promise<unknown>): Promise<WriteFailure | null> {
  return failureOf(() => query(WRITES_NOTHING));
}

async function failureOf(write: () => Promise<unknown>): Promise<WriteFailure | null> {
  try {
    await write();
    return null;
  } catch (error) {
    return isStorageFull(error) ? "storage" : "database";
  }
}
