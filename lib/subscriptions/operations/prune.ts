import type { Context } from "../../context";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Rows a statement: none of them holds its locks for long. */
const BATCH = 1_000;

/**
 * Drops the raw deliveries that are older than `retentionDays`. What the fold reads stays, and so does every status.
 * An event that failed keeps its delivery: whoever repairs it will want to read it. Returns how many were dropped.
 */
export async function prunePayloads({ db, now }: Pick<Context, "db" | "now">, retentionDays: number): Promise<number> {
  const before = new Date(now().getTime() - retentionDays * DAY_MS);
  let dropped = 0;
  for (;;) {
    const count = await db.$executeRaw`
      UPDATE "BillingEvent" SET payload = NULL WHERE id IN (
        SELECT id FROM "BillingEvent"
        WHERE state IN ('processed', 'ignored') AND "receivedAt" < ${before}::timestamptz AND payload IS NOT NULL
        ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      )`;
    dropped += count;
    if (count === 0) return dropped;
  }
}
