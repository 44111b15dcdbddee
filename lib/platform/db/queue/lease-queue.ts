import type { Prisma, PrismaClient } from "../generated/client";
import { empty, identifier, seconds, sql } from "../sql";
import { claimDue, type QueueTable } from "./claim";

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
