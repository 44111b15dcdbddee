import type { Prisma } from "../generated/client";
import { identifier, isLockedBy, sql } from "../sql";

/** A table that serves as a queue. The names are SQL identifiers from the code, never input. */
export type QueueTable = {
  table: string;
  /** The column with the time at which a row is due. */
  dueAt: string;
};

type ClaimOptions = {
  /** Claims rows that are due by this time of the database's clock. */
  dueBy: Prisma.Sql;
  /** An additional condition, such as the predicate of a partial index. */
  where?: Prisma.Sql;
  /** The SET clause of the claim's UPDATE. */
  set: Prisma.Sql;
  limit: number;
};

/**
 * Builds the statement that claims the rows that have been due longest and returns them. Several workers may run it at
 * the same time: each row is claimed once, and no worker waits for another (PostgreSQL, "SELECT", "The Locking
 * Clause"). The statement can also be a CTE of a larger one.
 */
export function claimDue({ table, dueAt }: QueueTable, { dueBy, where, set, limit }: ClaimOptions): Prisma.Sql {
  const [name, due] = [identifier(table), identifier(dueAt)];
  // MATERIALIZED: the planner could otherwise run the subquery, and its LIMIT, several times.
  return sql`
    WITH due AS MATERIALIZED (
      SELECT ctid FROM ${name} WHERE ${where ?? sql`true`} AND ${due} <= ${dueBy}
      ORDER BY ${due} LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    UPDATE ${name} AS claimed SET ${set} WHERE ${isLockedBy("due", "claimed")} RETURNING *`;
}
