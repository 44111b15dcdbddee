import type { Prisma, PrismaClient } from "../generated/client";
import { claimDue, type QueueTable } from "./claim";
import { identifier, seconds, sql } from "./sql";

type Deps = { db: PrismaClient; dbNow: () => Prisma.Sql };

type Options = QueueTable & {
  keyType: "uuid" | "text";
  /** Longer than any attempt takes. */
  leaseSeconds: number;
};

/** A claim of a row. `leaseUntil` identifies it: once the lease has expired, another worker may hold the row. */
export type Lease = { attempts: number; claimedAt: Date; leaseUntil: Date };

/**
 * A queue whose lease is the due time: a claim moves it into the future, as the visibility timeout of Amazon SQS does.
 * The row of a worker that was killed is therefore due again by itself.
 */
export type LeaseQueue<Row> = {
  /** Claims the row that has been due longest and counts the attempt; null when no row is due. */
  claim: (where?: Prisma.Sql) => Promise<(Row & Lease) | null>;
  /** Deletes a claimed row, unless it was claimed or queued again meanwhile. */
  complete: (row: Row & Lease) => Promise<void>;
  /** Makes a claimed row due again after a delay, unless it was claimed or queued again meanwhile. */
  retry: (row: Row & Lease, delaySeconds: number) => Promise<void>;
};

/** Opens a table as a queue. It needs a column `attempts`; `Row` is the rest of what is read of it. */
export function createLeaseQueue<Row extends Record<string, unknown>>(
  { db, dbNow }: Deps,
  { keyType, leaseSeconds, ...table }: Options,
): LeaseQueue<Row> {
  const [name, key, due] = [identifier(table.table), identifier(table.key), identifier(table.dueAt)];
  const isClaim = (row: Row & Lease) =>
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
    complete: async (row) => void (await db.$executeRaw`DELETE FROM ${name} WHERE ${isClaim(row)}`),
    retry: async (row, delaySeconds) => {
      await db.$executeRaw`UPDATE ${name} SET ${due} = ${dbNow()} + ${seconds(delaySeconds)} WHERE ${isClaim(row)}`;
    },
  };
}
