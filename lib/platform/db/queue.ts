import type { Prisma, PrismaClient } from "./generated/client";
import { empty, identifier, isLockedBy, seconds, sql } from "./sql";

/** Processes a queue in the background. */
export type Consumer = {
  /** Starts to process the rows that are due, and returns at once. */
  wake: () => void;
  /** Waits for the rows being processed. The rest stay in the queue. */
  close: () => Promise<void>;
};

type ConsumerOptions = {
  /** The number of rows that may be processed at the same time. */
  concurrency: number;
  /** Claims and processes one row. Returns false when no row is due. */
  processNext: () => Promise<boolean>;
  onError: (error: unknown) => void;
};

/** Creates a consumer. It processes nothing before the first `wake`. */
export function createConsumer({ concurrency, processNext, onError }: ConsumerOptions): Consumer {
  const running = new Set<Promise<void>>();
  let isWakeRequested = false;
  let isClosed = false;

  const drain = async () => {
    while (isWakeRequested) {
      isWakeRequested = false; // a later wake may be for a row that the last claim did not see
      while (!isClosed && (await processNext()));
    }
  };
  return {
    wake: () => {
      isWakeRequested = true;
      if (isClosed || running.size >= concurrency) return;
      const run = drain()
        .catch(onError)
        .finally(() => running.delete(run));
      running.add(run);
    },
    close: async () => {
      isClosed = true;
      await Promise.all(running);
    },
  };
}

/**
 * Returns the seconds to wait after a number of failed attempts: the n-th delay after the n-th failure, the last delay
 * after every later one. `random`, from 0 to 1, takes off up to half of the delay, so that rows that failed together are
 * not retried together ("equal jitter": AWS Architecture Blog, "Exponential Backoff And Jitter"); 1 takes off nothing.
 */
export function backoffSeconds(delaysSeconds: readonly number[], failures: number, random = 1): number {
  const delaySeconds = delaysSeconds[Math.min(failures, delaysSeconds.length) - 1] ?? 0;
  return (delaySeconds / 2) * (1 + random);
}

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

type Deps = { db: PrismaClient; dbNow: () => Prisma.Sql };

/** The names of the table and of its columns are SQL identifiers from the code, never input. */
type Options = {
  table: string;
  /** The column of the primary key, a UUID. */
  key: string;
  /** The column with the time at which a row is due. */
  dueAt: string;
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
  { leaseSeconds, ...names }: Options,
): LeaseQueue<Row> {
  const [table, key, due] = [identifier(names.table), identifier(names.key), identifier(names.dueAt)];
  const claimCondition = (row: Row & Lease) =>
    sql`${key} = ${row[names.key]}::uuid AND ${due} = ${row.leaseUntil}::timestamptz`;
  return {
    /** By several workers at the same time: none waits for another (PostgreSQL, "SELECT", "The Locking Clause"). */
    claim: async (where = sql`true`) => {
      // MATERIALIZED: the planner could otherwise run the subquery, and its LIMIT, several times.
      const [row] = await db.$queryRaw<(Row & { attempts: number })[]>`
        WITH due AS MATERIALIZED (
          SELECT ctid FROM ${table} WHERE ${where} AND ${due} <= ${dbNow()}
          ORDER BY ${due} LIMIT 1 FOR UPDATE SKIP LOCKED
        )
        UPDATE ${table} AS claimed
        SET "attempts" = claimed."attempts" + 1, ${due} = ${dbNow()} + ${seconds(leaseSeconds)}
        WHERE ${isLockedBy("due", "claimed")} RETURNING *`;
      if (!row) return null;
      const leaseUntil = row[names.dueAt] as Date;
      return { ...row, leaseUntil, claimedAt: new Date(leaseUntil.getTime() - leaseSeconds * 1000) };
    },
    complete: async (row) => void (await db.$executeRaw`DELETE FROM ${table} WHERE ${claimCondition(row)}`),
    retry: async (row, delaySeconds, alsoSet = () => empty) => {
      const dueAt = sql`${dbNow()} + ${seconds(delaySeconds)}`;
      await db.$executeRaw`UPDATE ${table} SET ${due} = ${dueAt} ${alsoSet(dueAt)} WHERE ${claimCondition(row)}`;
    },
  };
}
