import { isStorageFull } from "../errors";
import { Prisma, type PrismaClient } from "./generated/client";

/** What stands in the way of writes: the database as a whole, its storage, or nothing. */
export type Fault = "database" | "storage" | null;

const deletes = Object.values(Prisma.ModelName).map(
  (table, index) => `d${index} AS (DELETE FROM "${table}" WHERE false)`,
);

/**
 * Deletes no row of any table, which needs what a write needs: a server that is no standby and not read-only, and on each
 * table the lock that ALTER TABLE or CREATE INDEX keep from writers. It assigns no transaction id and writes no log.
 */
const WRITES_NOTHING = Prisma.raw(`WITH ${deletes} SELECT 1`);

/** The same, and has the server write a temporary file of 200 kB, which fails with 53100 on a full disk. */
const WRITES_TEMPORARILY = Prisma.raw(
  `WITH ${deletes}, setting AS MATERIALIZED (SELECT set_config('work_mem', '64kB', true) AS memory)
   SELECT count(*) FROM setting, generate_series(1, 5000 + length(setting.memory))`,
);

/**
 * Shorter than PostgreSQL's `deadlock_timeout` of 1 s: a migration that holds one table and waits for the next is the one
 * that would be ended, if the question held that one and waited for the first.
 */
const LOCK_TIMEOUT = Prisma.sql`SELECT set_config('lock_timeout', '500ms', true)`;

/** Asks whether writes would succeed. Waits for a locked table half a second on a server. */
export async function findFault(client: PrismaClient, isServer: boolean): Promise<Fault> {
  try {
    if (isServer) await client.$transaction([client.$queryRaw(LOCK_TIMEOUT), client.$queryRaw(WRITES_TEMPORARILY)]);
    else await client.$queryRaw(WRITES_NOTHING);
    return null;
  } catch (error) {
    return isStorageFull(error) ? "storage" : "database";
  }
}
