import { Prisma } from "./generated/client";

/**
 * The database's current time as SQL, in milliseconds like the columns. Times that several processes share (claims,
 * leases, due times, pauses) are written and compared with this clock, because the clocks of their machines differ.
 * Unlike now(), it advances within a transaction (PostgreSQL, 9.9.5 "Current Date/Time").
 */
export const databaseNow = (): Prisma.Sql => Prisma.sql`date_trunc('milliseconds', statement_timestamp())`;
