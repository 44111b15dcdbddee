import { Prisma } from "./generated/client";

/**
 * The database's clock, as SQL, to the millisecond that the columns hold. Whatever two processes have to agree on
 * (claims, leases, due times, pauses) is written and compared by it: the clocks of their machines differ. It moves on
 * within a transaction, as now() does not (PostgreSQL, 9.9.5 "Current Date/Time").
 */
export const databaseNow = (): Prisma.Sql => Prisma.sql`date_trunc('milliseconds', statement_timestamp())`;
