import type { Prisma } from "../generated/client";
import { sql } from "../sql";

/** A lease that ends later than this was written before the database's clock was set back. */
const MAX_LEASE_AHEAD_MS = 10 * 60 * 1000;

/** Returns whether a lease has expired; `now` is the database's time. */
export function isLeaseExpired(leaseUntil: Date, now: Date): boolean {
  return leaseUntil < now || leaseUntil.getTime() > now.getTime() + MAX_LEASE_AHEAD_MS;
}

/** The same condition as SQL, to find the rows of a killed worker. */
export function leaseExpired(leaseUntil: Prisma.Sql, now: Prisma.Sql): Prisma.Sql {
  return sql`(${leaseUntil} < ${now}
    OR ${leaseUntil} > ${now} + interval '1 millisecond' * ${MAX_LEASE_AHEAD_MS}::int)`;
}
