import type { Context } from "../../context";
import { sql } from "../../db/sql";
import { SECRET_KINDS } from "../../push/notifications";
import { queuePriorityOf } from "../../push/outbox/rows";
import { PAUSED } from "../../push/worker/outcomes";

type Deps = Pick<Context, "db" | "dbNow">;
type RetryResult = { resumed: number; retried: number };

/** Bounds how long a statement locks its rows. */
const MAX_ROWS_PER_STATEMENT = 10_000;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Ends all pauses and requeues the deliveries that waited for them, and the failed ones that have not expired, or only
 * those with the given ids. Returns the number of each. Devices that APNs reported as invalid stay invalid.
 */
export async function retryDeliveries(deps: Deps, ids: readonly string[] = []): Promise<RetryResult> {
  const resumed = await endPauses(deps);
  let retried = 0;
  for (let rows = MAX_ROWS_PER_STATEMENT; rows === MAX_ROWS_PER_STATEMENT; retried += rows)
    rows = await retryFailed(deps, ids);
  return { resumed, retried };
}

/**
 * Deletes the pauses in a statement of its own. It waits for the workers that are storing deliveries to wait for a pause,
 * and later workers find none, so the statements after it see every row. Goes by key, so that each row is requeued once,
 * even if APNs pauses again meanwhile.
 */
async function endPauses({ db, dbNow }: Deps): Promise<number> {
  await db.pushPause.deleteMany();
  let resumed = 0;
  let after: { deviceId: string; messageId: string } | null = { deviceId: NIL_ID, messageId: NIL_ID };
  while (after !== null) {
    const rows: { deviceId: string; messageId: string }[] = await db.$queryRaw`
      WITH waiting AS MATERIALIZED (
        SELECT "deviceId", "messageId" FROM "QueuedPush"
        WHERE ("deviceId", "messageId") > (${after.deviceId}::uuid, ${after.messageId}::uuid)
          AND "leaseUntil" IS NULL AND "reason" = ${PAUSED} AND "nextAttemptAt" > ${dbNow()}
        ORDER BY "deviceId", "messageId" LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE
      ), resumed AS (
        UPDATE "QueuedPush" AS queued SET "nextAttemptAt" = ${dbNow()}
        FROM waiting WHERE queued."deviceId" = waiting."deviceId" AND queued."messageId" = waiting."messageId"
      )
      SELECT * FROM waiting ORDER BY "deviceId", "messageId"`;
    resumed += rows.length;
    after = rows.at(-1) ?? null;
  }
  return resumed;
}

/** Moves receipts back to the queue. The payloads of secret kinds were deleted, so those cannot be sent again. */
async function retryFailed({ db, dbNow }: Deps, ids: readonly string[]): Promise<number> {
  const isChosen = ids.length === 0 ? sql`true` : sql`receipt."id" = ANY(${ids}::uuid[])`;
  return db.$executeRaw`
    WITH failed AS MATERIALIZED (
      SELECT receipt."messageId", receipt."deviceId", message."kind"
      FROM "PushReceipt" AS receipt
      JOIN "PushMessage" AS message ON message."id" = receipt."messageId"
      JOIN "PushDevice" AS device ON device."id" = receipt."deviceId"
      WHERE receipt."state" = 'failed' AND receipt."expiresAt" > ${dbNow()} AND ${isChosen}
        AND message."kind" <> ALL(${SECRET_KINDS})
      LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE OF receipt SKIP LOCKED FOR KEY SHARE OF device SKIP LOCKED
    ), removed AS (
      DELETE FROM "PushReceipt" AS receipt USING failed
      WHERE receipt."messageId" = failed."messageId" AND receipt."deviceId" = failed."deviceId"
      RETURNING receipt.*, failed."kind"
    )
    INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority",
      "apnsStatus", "reason")
    SELECT "deviceId", "messageId", "id", ${dbNow()}, "expiresAt", ${queuePriorityOf(sql`"kind"`)}, "apnsStatus", "reason"
    FROM removed`;
}
