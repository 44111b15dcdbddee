import type { Context } from "../../context";
import { leaseExpired } from "../../db/queue/lease";
import { sql } from "../../db/sql";
import { SECRET_KINDS } from "../notifications";
import { MAX_ATTEMPTS } from "./apns-result";

type Deps = Pick<Context, "db" | "dbNow" | "log">;

/** How long sent, failed and cancelled deliveries are kept. */
const RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
const MAX_ROWS_PER_STATEMENT = 1_000;
const MAX_STATEMENTS = 10;

/** Requeues deliveries whose lease has expired, and deletes old ones. */
export async function maintainOutbox(deps: Deps): Promise<void> {
  const requeued = await requeueExpiredLeases(deps);
  if (requeued > 0) deps.log.warn({ rows: requeued }, "requeued deliveries with expired leases");
  const [clock] = await deps.db.$queryRaw<{ now: Date }[]>`SELECT ${deps.dbNow()} AS "now"`;
  if (!clock) return;
  for (let i = 0; i < MAX_STATEMENTS; i++) {
    if ((await deleteOldDeliveries(deps, clock.now)) < MAX_ROWS_PER_STATEMENT) return;
  }
}

/**
 * Counts as an attempt, since the deliveries may have been sent. A delivery that crashes its worker therefore fails in
 * the end. Returns the number of rows.
 */
async function requeueExpiredLeases({ db, dbNow }: Deps): Promise<number> {
  return db.$executeRaw`
    WITH expired AS MATERIALIZED (
      SELECT "id" FROM "PushDelivery"
      WHERE "state" = 'sending' AND ${leaseExpired(sql`"leaseUntil"`, dbNow())} FOR UPDATE SKIP LOCKED
    )
    UPDATE "PushDelivery" AS delivery
    SET "leaseUntil" = NULL, "nextAttemptAt" = ${dbNow()}, "attempts" = "attempts" + 1,
      "state" = (CASE WHEN "attempts" + 1 < ${MAX_ATTEMPTS} THEN 'queued' ELSE 'failed' END)::"PushDeliveryState",
      "payload" = CASE WHEN "attempts" + 1 >= ${MAX_ATTEMPTS} AND "kind" = ANY(${SECRET_KINDS}) THEN '{}'::jsonb
        ELSE "payload" END,
      "reason" = 'abandoned'
    FROM expired WHERE delivery."id" = expired."id"`;
}

/** Selects by id: version 7 UUIDs are ordered by time, so the primary key finds old rows without another index. */
async function deleteOldDeliveries({ db }: Deps, now: Date): Promise<number> {
  const before = firstIdAt(new Date(now.getTime() - RETENTION_MS));
  return db.$executeRaw`
    DELETE FROM "PushDelivery" WHERE "id" IN (
      SELECT "id" FROM "PushDelivery" WHERE "id" < ${before}::uuid AND "state" IN ('sent', 'failed', 'cancelled')
      ORDER BY "id" LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
    )`;
}

/** The smallest version 7 UUID of a millisecond (RFC 9562, section 5.7). */
function firstIdAt(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}
