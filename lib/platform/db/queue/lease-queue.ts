import type { Prisma, PrismaClient } from "../generated/client";
import { empty, identifier, isLockedBy, seconds, sql } from "../sql";

type Deps = { db: PrismaClient; dbNow: () => Prisma.Sql };

type Options = QueueTable & {
  /** The column of the primary key. */
  key: string;
  keyType: "uuid" | "text";
  /** The duration of a lease. Longer than any attempt. */
  leaseSeconds: number;
};

/** A claim of a row. `leaseUntil` identifies it: once the lease has expired, another worker may hold the row. */
export type Lease = { attempts: number; claimedAt: Date; leaseUntil: Date };

/**
 * A queue whose lease is the due time: a claim moves it into the future, as the visibility timeout of Amazon SQS does.
 * If a worker is killed, its row therefore becomes due again.
 */
export type LeaseQueue<Row> = {
  /** Claims the row that has been due longest and counts the attempt; null when no row is due. */
  claim: (where?: Prisma.Sql) => Promise<(Row & Lease) | null>;
  /** Deletes a claimed row, unless it was claimed or queued again in the meantime. */
  complete: (row: Row & Lease) => Promise<void>;
  /**
   * Makes a claimed row due again after a delay, unless it was claimed or queued again in the meantime. `alsoSet` returns
   * more of the SET clause; it begins with a comma.
   */
  retry: (row: Row & Lease, delaySeconds: number, alsoSet?: (dueAt: Prisma.Sql) => Prisma.Sql) => Promise<void>;
};

/** Opens a table as a queue. The table needs a column `attempts`; `Row` describes the other columns that are read. */
export function createLeaseQueue<Row extends Record<string, unknown>>(
  { db, dbNow }: Deps,
  { keyType, leaseSeconds, ...table }: Options,
): LeaseQueue<Row> {
  const [name, key, due] = [identifier(table.table), identifier(table.key), identifier(table.dueAt)];
  const claimCondition = (row: Row & Lease) =>
    sql`${key} = ${row[table.key]}::${identifier(keyType)} AND ${due} = ${row.leaseUntil}::timestamptz`;
  return {
    claim: async (where) => {
      const set = sql`"attempts" = claimed."attempts" + 1, ${due} = ${dbNow()} + ${seconds(leaseSeconds)}`;
      const statement = claimDue(table, { dueBy: dbNow(), where, set, limit: 1 });
      const [row] = await db.$queryRaw<(Row & { attempts: number })[]>(statement);
      if (!row) return null;
      const leaseUntil = row[table.dueAt] as Date;
      return { ...row, leaseUntil, claimedAt: new Date(leaseUntil.getTime() - leaseSeconds * 1000) };
    },
    complete: async (row) => void (await db.$executeRaw`DELETE FROM ${name} WHERE ${claimCondition(row)}`),
    retry: async (row, delaySeconds, alsoSet = () => empty) => {
      const dueAt = sql`${dbNow()} + ${seconds(delaySeconds)}`;
      await db.$executeRaw`UPDATE ${name} SET ${due} = ${dueAt} ${alsoSet(dueAt)} WHERE ${claimCondition(row)}`;
    },
  };
}

/** A table that serves as a queue. The names are SQL identifiers from the code, never input. */
type QueueTable = {
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
function claimDue({ table, dueAt }: QueueTable, { dueBy, where, set, limit }: ClaimOptions): Prisma.Sql {
  const [name, due] = [identifier(table), identifier(dueAt)];
  // MATERIALIZED: the planner could otherwise run the subquery, and its LIMIT, several times.
  return sql`
    WITH due AS MATERIALIZED (
      SELECT ctid FROM ${name} WHERE ${where ?? sql`true`} AND ${due} <= ${dueBy}
      ORDER BY ${due} LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    UPDATE ${name} AS claimed SET ${set} WHERE ${isLockedBy("due", "claimed")} RETURNING *`;
}
