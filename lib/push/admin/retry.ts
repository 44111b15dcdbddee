import type { Context, Tx } from "../../context";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { sql } from "../../platform/db/sql";
import type { Operator } from "../../principal";
import { QUEUE_PRIORITIES, QueuePriority, SECRET_KINDS } from "../notifications";
import { countOutcomes } from "../outbox/receipts";
import { joinPreferences } from "../time-to-notify";
import { endPauses } from "./pauses";
import type { Retry, RetryResult } from "./schema";

type Deps = Pick<Context, "db" | "dbNow" | "now" | "wakePush">;

/** Bounds how long a statement locks its rows. */
const MAX_ROWS_PER_STATEMENT = 10_000;
/** Bounds how long a request takes. */
const MAX_STATEMENTS = 10;

/**
 * Ends all pauses and requeues the deliveries that waited for them, and the failed ones that have not expired, or only
 * those with the given ids, up to 100,000. Devices that APNs reported as invalid stay invalid.
 */
export async function retryDeliveries(deps: Deps, operator: Operator, { ids }: Retry): Promise<RetryResult> {
  const { db, now, wakePush } = deps;
  const record = (tx: Tx, counts: { deliveries: number; resumed: number }) => {
    const details = { ...counts, isAll: ids === undefined };
    return recordOperatorEvent(tx, now(), operator, { type: "push_retried", target: "push:deliveries", details });
  };
  const resumed = await endPauses(deps, (tx, count) => record(tx, { deliveries: 0, resumed: count }));
  let retried = 0;
  let rows = MAX_ROWS_PER_STATEMENT;
  for (let i = 0; i < MAX_STATEMENTS && rows === MAX_ROWS_PER_STATEMENT; i++) {
    rows = await db.$transaction(async (tx) => {
      const moved = await retryFailed(tx, deps, ids);
      if (moved > 0) await record(tx, { deliveries: moved, resumed: 0 });
      return moved;
    });
    retried += rows;
  }
  wakePush();
  return { resumed, retried, isComplete: rows < MAX_ROWS_PER_STATEMENT };
}

/**
 * Moves receipts back to the queue, unless their owners have turned the kind off. The payloads of secret kinds were
 * deleted, so those cannot be sent again.
 */
async function retryFailed(tx: Tx, { dbNow }: Deps, ids: Retry["ids"]): Promise<number> {
  const isChosen = ids === undefined ? sql`true` : sql`receipt."id" = ANY(${ids}::uuid[])`;
  return tx.$executeRaw`
    WITH failed AS MATERIALIZED (
      SELECT receipt."messageId", receipt."deviceId",
        CASE WHEN message."accountId" IS NULL AND message."deviceId" IS NULL THEN ${QueuePriority.announcement}::smallint
        ELSE coalesce((${JSON.stringify(QUEUE_PRIORITIES)}::jsonb ->> message."kind")::smallint,
          ${QueuePriority.normal}::smallint) END AS "queuePriority"
      FROM "PushReceipt" AS receipt
      JOIN "PushMessage" AS message ON message."id" = receipt."messageId"
      JOIN "PushDevice" AS device ON device."id" = receipt."deviceId" ${joinPreferences}
      WHERE receipt."state" = 'failed' AND receipt."expiresAt" > ${dbNow()} AND ${isChosen}
        AND message."kind" <> ALL(${SECRET_KINDS}) AND message."canceledAt" IS NULL
        AND (message."kind" = ANY(preference."mutedKinds")) IS NOT TRUE
      LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE OF receipt SKIP LOCKED FOR KEY SHARE OF device SKIP LOCKED
    ), "ended" AS (
      DELETE FROM "PushReceipt" AS receipt USING failed
      WHERE receipt."messageId" = failed."messageId" AND receipt."deviceId" = failed."deviceId"
      RETURNING receipt.*, failed."queuePriority"
    ), ${countOutcomes(sql`"endedAt"`, { count: -1 })}
    INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority",
      "apnsStatus", "reason")
    SELECT "deviceId", "messageId", "id", ${dbNow()}, "expiresAt", "queuePriority", "apnsStatus", "reason"
    FROM "ended"`;
}
