import type { Context } from "../../context";
import { SECRET_KINDS } from "../notifications";
import { MAX_ATTEMPTS } from "./apns-result";
import type { ClaimedDelivery } from "./claim";

type Deps = Pick<Context, "db" | "dbNow" | "log">;

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** A lease that ends later than this is from before the database's clock was set back, and is none. */
const SKEW_MS = 10 * MINUTE_MS;
/** How long what was sent, failed or cancelled can still be looked up. */
const RETENTION_MS = 30 * DAY_MS;
const MAX_ROWS_PER_STATEMENT = 1_000;
const MAX_STATEMENTS = 10;

/** What has to be done from time to time: frees the rows of senders that are gone, and removes what is old. */
export async function maintainOutbox(deps: Deps): Promise<void> {
  const freed = await requeueExpiredLeases(deps);
  if (freed > 0) deps.log.warn({ rows: freed }, "notifications come free: whoever sent them is gone");
  const [clock] = await deps.db.$queryRaw<{ now: Date }[]>`SELECT ${deps.dbNow()} AS "now"`;
  if (!clock) return;
  for (let i = 0; i < MAX_STATEMENTS; i++)
    if ((await deleteOldDeliveries(deps, clock.now)) < MAX_ROWS_PER_STATEMENT) return;
}

/** Whether a row's lease is none any more, as the database judges below; `at` is by its clock. */
export function isLeaseExpired({ leaseUntil }: Pick<ClaimedDelivery, "leaseUntil">, at: Date): boolean {
  return leaseUntil < at || leaseUntil.getTime() > at.getTime() + SKEW_MS;
}

/**
 * Queues rows whose lease ran out. Nobody knows whether they were sent, so it counts as an attempt: a row that
 * brings its sender down does not do so for ever.
 */
async function requeueExpiredLeases({ db, dbNow }: Deps): Promise<number> {
  return db.$executeRaw`
    WITH abandoned AS MATERIALIZED (
      SELECT "id" FROM "PushDelivery"
      WHERE "state" = 'sending' AND ("leaseUntil" < ${dbNow()}
        OR "leaseUntil" > ${dbNow()} + interval '1 millisecond' * ${SKEW_MS}::int) FOR UPDATE SKIP LOCKED
    )
    UPDATE "PushDelivery" AS delivery
    SET "leaseUntil" = NULL, "nextAttemptAt" = ${dbNow()}, "attempts" = "attempts" + 1,
      "state" = (CASE WHEN "attempts" + 1 < ${MAX_ATTEMPTS} THEN 'queued' ELSE 'failed' END)::"PushDeliveryState",
      "payload" = CASE WHEN "attempts" + 1 >= ${MAX_ATTEMPTS} AND "kind" = ANY(${SECRET_KINDS}) THEN '{}'::jsonb
        ELSE "payload" END,
      "reason" = 'abandoned'
    FROM abandoned WHERE delivery."id" = abandoned."id"`;
}

/** By their ids, which rise with time: so it needs no index of its own, and finds what is old without looking at the rest. */
async function deleteOldDeliveries({ db }: Deps, now: Date): Promise<number> {
  const before = firstIdOf(new Date(now.getTime() - RETENTION_MS));
  return db.$executeRaw`
    DELETE FROM "PushDelivery" WHERE "id" IN (
      SELECT "id" FROM "PushDelivery" WHERE "id" < ${before}::uuid AND "state" IN ('sent', 'failed', 'cancelled')
      ORDER BY "id" LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
    )`;
}

/** The least UUID of version 7 of a millisecond (RFC 9562, section 5.7). */
function firstIdOf(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}
