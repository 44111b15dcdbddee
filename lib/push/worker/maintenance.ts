import type { Context } from "../../context";
import { readDatabaseTime } from "../../platform/db/clock";
import { firstIdAt } from "../../platform/db/ids";
import { leaseExpired } from "../../platform/db/queue";
import { isLockedBy, sql } from "../../platform/db/sql";
import { insertReceipts, OTHER_MESSAGES } from "../outbox/receipts";
import { isTurnedOff } from "../time-to-notify";
import { MAX_ATTEMPTS } from "./outcomes";

type Deps = Pick<Context, "db" | "dbNow" | "log">;

/** How long receipts are kept, and messages after the last of their deliveries has expired. */
const RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
const MAX_ROWS_PER_STATEMENT = 1_000;
const MAX_STATEMENTS = 10;

/** Requeues deliveries whose lease has expired, and deletes old rows. */
export async function maintainOutbox(deps: Deps): Promise<void> {
  const requeued = await releaseExpiredLeases(deps);
  if (requeued > 0) deps.log.warn({ rows: requeued }, "requeued deliveries with expired leases");
  const before = new Date((await readDatabaseTime(deps)).getTime() - RETENTION_MS);
  for (const remove of [removeReceipts, removeMessages, removeCounts]) {
    for (let i = 0; i < MAX_STATEMENTS; i++) if ((await remove(deps, before)) < MAX_ROWS_PER_STATEMENT) break;
  }
}

/**
 * Counts as an attempt, since the deliveries may have been sent. A delivery that crashes its worker therefore fails in
 * the end. Returns the number of rows.
 */
async function releaseExpiredLeases({ db, dbNow }: Deps): Promise<number> {
  const [result] = await db.$queryRaw<{ rows: number }[]>`
    WITH expired AS MATERIALIZED (
      SELECT ctid FROM "QueuedPush"
      WHERE "leaseUntil" IS NOT NULL AND ${leaseExpired(sql`"leaseUntil"`, dbNow())} FOR UPDATE SKIP LOCKED
    ), requeued AS (
      UPDATE "QueuedPush" AS queued
      SET "leaseUntil" = NULL, "nextAttemptAt" = ${dbNow()}, "attempts" = "attempts" + 1, "reason" = 'abandoned',
        "expiresAt" = CASE WHEN ${isTurnedOff} THEN ${dbNow()} ELSE "expiresAt" END
      WHERE ${isLockedBy("expired", "queued")} AND "attempts" + 1 < ${MAX_ATTEMPTS}
    ), "removed" AS (
      DELETE FROM "QueuedPush" AS queued
      WHERE ${isLockedBy("expired", "queued")} AND "attempts" + 1 >= ${MAX_ATTEMPTS}
      RETURNING *
    ), "ended" AS (
      SELECT "messageId", "deviceId", "id", "expiresAt", 'failed' AS "state", "attempts" + 1 AS "attempts",
        "apnsStatus", 'abandoned' AS "reason", "queuePriority"
      FROM "removed"
    ), ${insertReceipts(dbNow())}
    SELECT count(*)::int AS "rows" FROM expired`;
  return result?.rows ?? 0;
}

async function removeReceipts({ db }: Deps, before: Date): Promise<number> {
  return db.$executeRaw`
    DELETE FROM "PushReceipt" WHERE ("messageId", "deviceId") IN (
      SELECT "messageId", "deviceId" FROM "PushReceipt" WHERE "endedAt" < ${before}
      ORDER BY "endedAt" LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
    )`;
}

/**
 * Removes messages with their counts. Selects by id: version 7 UUIDs are ordered by time, so the primary key finds old rows
 * without another index.
 */
async function removeMessages({ db }: Deps, before: Date): Promise<number> {
  const [result] = await db.$queryRaw<{ rows: number }[]>`
    WITH removed AS (
      DELETE FROM "PushMessage" WHERE "id" IN (
        SELECT "id" FROM "PushMessage" WHERE "id" < ${firstIdAt(before)}::uuid AND "expiresAt" < ${before}
        ORDER BY "id" LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
      )
      RETURNING "id"
    ), counted AS (
      DELETE FROM "PushOutcomeCount" USING removed WHERE "messageId" = removed."id"
    )
    SELECT count(*)::int AS "rows" FROM removed`;
  return result?.rows ?? 0;
}

/** Removes the counts of all messages that have none of their own. */
async function removeCounts({ db }: Deps, before: Date): Promise<number> {
  return db.$executeRaw`
    DELETE FROM "PushOutcomeCount" WHERE ("messageId", "hour", "state", "reason", "writer") IN (
      SELECT "messageId", "hour", "state", "reason", "writer" FROM "PushOutcomeCount"
      WHERE "messageId" = ${OTHER_MESSAGES}::uuid AND "hour" < ${before}
      ORDER BY "hour" LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
    )`;
}
