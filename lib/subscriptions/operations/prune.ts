import type { Context } from "../../context";
import { eventPages } from "./pages";

const DAY_MS = 24 * 60 * 60 * 1000;
/**
 * Drops the raw deliveries that are older than `retentionDays`. What the fold reads stays, and so does every status.
 * An event that failed keeps its delivery: whoever repairs it will want to read it. Returns how many were dropped.
 */
export async function prunePayloads({ db, now }: Pick<Context, "db" | "now">, retentionDays: number): Promise<number> {
  const before = new Date(now().getTime() - retentionDays * DAY_MS);
  let dropped = 0;
  for await (const ids of eventPages(db, before, ["processed", "ignored"])) {
    dropped += await db.$executeRaw`
      UPDATE "BillingEvent" SET payload = NULL WHERE id IN (
        SELECT id FROM "BillingEvent" WHERE id = ANY(${ids}::uuid[]) AND payload IS NOT NULL FOR UPDATE SKIP LOCKED)`;
  }
  return dropped;
}
