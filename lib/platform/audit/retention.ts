import type { Context } from "../../context";
import type { Prisma } from "../db/generated/client";
import { deleteBatch, removeInBatches } from "../db/remove-in-batches";
import { sql } from "../db/sql";

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long the audit trail keeps an event. */
const TTL_MS = 365 * DAY_MS;
/** How long it keeps a failed sign-in without an account, of which strangers can cause any number. */
const UNKNOWN_EMAIL_TTL_MS = 7 * DAY_MS;

/** Removes the events of the audit trail that are older than a year, or a week. Returns how many. */
export async function removeOldAuditEvents({ db, now }: Pick<Context, "db" | "now">): Promise<number> {
  const before = (ttlMs: number) => sql`"at" < ${new Date(now().getTime() - ttlMs)}::timestamptz`;
  const remove = (condition: Prisma.Sql) =>
    removeInBatches(() => db.$executeRaw(deleteBatch("AuditEvent", "id", condition, "at")));
  const ofUnknownEmail = sql`"type" = 'sign_in_failed' AND "accountId" IS NULL AND ${before(UNKNOWN_EMAIL_TTL_MS)}`;
  return (await remove(before(TTL_MS))) + (await remove(ofUnknownEmail));
}
