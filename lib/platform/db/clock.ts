import { Prisma } from "./generated/client";
import type { Tx } from "./transaction";

/**
 * The database's current time as SQL, in milliseconds like the columns. Times that several processes share (claims,
 * leases, due times, pauses) are written and compared with this clock, because the clocks of their machines differ.
 * Unlike now(), it advances within a transaction (PostgreSQL, 9.9.5 "Current Date/Time").
 */
export const databaseNow = (): Prisma.Sql => Prisma.sql`date_trunc('milliseconds', statement_timestamp())`;

/** Reads the database's time. Returns `notBefore` if that is later. */
export async function readDatabaseTime(
  { db, dbNow }: { db: Tx; dbNow: () => Prisma.Sql },
  notBefore: Date | null = null,
): Promise<Date> {
  const [row] = await db.$queryRaw<{ now: Date }[]>`
    SELECT greatest(${dbNow()}::timestamptz, ${notBefore}::timestamptz) AS "now"`;
  if (!row) throw new Error("The database returned no time");
  return row.now;
}

/** The database's time in so many seconds. */
export const databaseTimeIn = async (deps: Parameters<typeof readDatabaseTime>[0], seconds: number): Promise<Date> =>
  new Date((await readDatabaseTime(deps)).getTime() + seconds * 1000);
