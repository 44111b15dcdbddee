import type { Context } from "../context";
import { deleteBatch, removeInBatches } from "../db/remove-in-batches";
import { sql } from "../db/sql";

/** How long the audit trail keeps an event. */
const TTL_MS = 365 * 24 * 60 * 60 * 1000;

/** Removes the events of the audit trail that are older than a year. Returns how many. */
export function removeOldAuditEvents({ db, now }: Pick<Context, "db" | "now">): Promise<number> {
  const isOld = sql`"at" < ${new Date(now().getTime() - TTL_MS)}::timestamptz`;
  return removeInBatches(() => db.$executeRaw(deleteBatch("AuditEvent", "id", isOld, "at")));
}
