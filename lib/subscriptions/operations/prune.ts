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
  let [dropped, after] = [0, new Date(0)];
  for (;;) {
    const rows = await db.$queryRaw<{ receivedAt: Date }[]>`
      UPDATE "BillingEvent" SET payload = NULL WHERE id IN (
        SELECT id FROM "BillingEvent"
        WHERE state IN ('processed', 'ignored') AND payload IS NOT NULL
          AND "receivedAt" >= ${after}::timestamptz AND "receivedAt" < ${before}::timestamptz
        ORDER BY "receivedAt" LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      ) RETURNING "receivedAt"`;
    if (rows.length === 0) return dropped;
    dropped += rows.length;
    after = rows.reduce((latest, { receivedAt }) => (receivedAt > latest ? receivedAt : latest), after);
  }
}
