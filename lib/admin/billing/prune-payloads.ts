import type { Context } from "../../context";
import { eventPages } from "./event-pages";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Deletes the payloads of deliveries older than `retentionDays`. Keeps the events, which the fold reads, and the payloads
 * of failed events, which are needed to find the cause. Returns the number of payloads deleted.
 */
export async function prunePayloads({ db, now }: Pick<Context, "db" | "now">, retentionDays: number): Promise<number> {
  const before = new Date(now().getTime() - retentionDays * DAY_MS);
  let deleted = 0;
  for await (const ids of eventPages(db, before, ["processed", "ignored"])) {
    deleted += await db.$executeRaw`
      UPDATE "BillingEvent" SET payload = NULL WHERE id IN (
        SELECT id FROM "BillingEvent" WHERE id = ANY(${ids}::uuid[]) AND payload IS NOT NULL FOR UPDATE SKIP LOCKED)`;
  }
  return deleted;
}
