import type { Tx } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { NIL_ID, newId } from "../../platform/db/ids";
import { empty, sql } from "../../platform/db/sql";
import { QueuePriority, SECRET_KINDS } from "../notifications";

/** The message id under which deliveries that belong to no announcement are counted. */
export const OTHER_MESSAGES = NIL_ID;
/** The reason of deliveries whose message an operator canceled. */
export const CANCELED = "canceled_by_operator";
/** The reason of deliveries whose event is no longer true. */
export const OUTDATED = "outdated";
/** How many queued deliveries `hasQueuedDeliveries` reads, which takes milliseconds. */
const MAX_EXAMINED = 10_000;

/**
 * Returns the CTE "counted", which adds the rows of the CTE "ended" to the counts of their hour. `writer` is the process
 * for a statement that commits at once. A statement in a longer transaction gets a writer of its own by default, so that
 * no worker waits for the transaction. `count` is -1 for deliveries that are queued again.
 */
export function countOutcomes(
  hour: Prisma.Sql,
  { writer = newId(), count = 1 }: { writer?: string; count?: 1 | -1 } = {},
): Prisma.Sql {
  return sql`"counted" AS (
      INSERT INTO "PushOutcomeCount" AS known ("messageId", "hour", "state", "reason", "writer", "count")
      SELECT CASE WHEN "queuePriority" = ${QueuePriority.announcement} THEN "messageId" ELSE ${OTHER_MESSAGES}::uuid END,
        date_trunc('hour', ${hour}, 'UTC'), "state"::"PushDeliveryState",
        coalesce("reason", nullif("apnsStatus", 200)::text, ''), ${writer}::uuid, ${count}::int * count(*)
      FROM "ended" GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      ON CONFLICT ("messageId", "hour", "state", "reason", "writer") DO UPDATE SET "count" = known."count" + EXCLUDED."count"
    )`;
}

/**
 * SQL: whether the queue has deliveries of a row `broadcast`. The counts alone cannot tell, because a deleted device
 * takes along its queued delivery. The queue has no index by message: if it is long, this assumes that it has some.
 */
export const hasQueuedDeliveries = sql`CASE WHEN broadcast."queued" > coalesce((
    SELECT sum("count") FROM "PushOutcomeCount" WHERE "messageId" = broadcast."messageId"
  ), 0) THEN (
    SELECT count(*) = ${MAX_EXAMINED}::int OR count(*) FILTER (WHERE "messageId" = broadcast."messageId") > 0 FROM (
      SELECT "messageId" FROM "QueuedPush" WHERE "leaseUntil" > '-infinity'
      UNION ALL SELECT "messageId" FROM "QueuedPush"
      WHERE "leaseUntil" IS NULL AND "queuePriority" = ${QueuePriority.announcement} AND "nextAttemptAt" > '-infinity'
      LIMIT ${MAX_EXAMINED}::int
    ) AS examined
  ) ELSE false END`;

type ReceiptOptions = {
  /** Whether the payloads of secret messages have to be deleted. */
  hasSecrets?: boolean;
  /** See `countOutcomes`. */
  writer?: string;
};

/**
 * Returns the CTEs of a statement that has deleted deliveries from `QueuedPush`: they insert the receipts, count them and
 * delete the payloads of secret messages. The statement's CTE "ended" has the rows with their new `state`, `attempts`,
 * `apnsStatus` and `reason`. `now` is the database's time.
 */
export function insertReceipts(now: Prisma.Sql | Date, { hasSecrets = true, writer }: ReceiptOptions = {}): Prisma.Sql {
  return sql`${hasSecrets ? deleteSecrets : empty} ${countOutcomes(sql`${now}::timestamptz`, { writer })}, "receipt" AS (
      INSERT INTO "PushReceipt" ("messageId", "deviceId", "id", "endedAt", "expiresAt", "state", "attempts",
        "apnsStatus", "reason")
      SELECT "messageId", "deviceId", "id", ${now}::timestamptz, "expiresAt", "state"::"PushDeliveryState", "attempts",
        "apnsStatus", "reason"
      FROM "ended"
    )`;
}

/** The same for deliveries that are canceled: the statement has deleted the rows of the CTE "removed". */
export function cancelRemoved(now: Prisma.Sql | Date, reason: string, options: ReceiptOptions = {}): Prisma.Sql {
  return sql`"ended" AS (
      SELECT "messageId", "deviceId", "id", "expiresAt", 'cancelled' AS "state", "attempts", "apnsStatus",
        ${reason} AS "reason", "queuePriority"
      FROM removed
    ), ${insertReceipts(now, options)}`;
}

const deleteSecrets = sql`"secret" AS (
      UPDATE "PushMessage" SET "payload" = '{}'
      WHERE "id" = ANY(ARRAY(SELECT "messageId" FROM "ended")) AND "kind" = ANY(${SECRET_KINDS})
    ),`;

/**
 * Deletes the receipts of an account's devices. Receipts have no index by device, since it would cost a write for each
 * notification. So this looks up the receipts of each message that the devices can have received.
 */
export async function removeAccountReceipts(tx: Tx, accountId: string): Promise<void> {
  // An outcome that a worker is recording has its receipt then. It skips the others, which are deleted with their devices.
  await tx.$queryRaw`
    SELECT FROM "QueuedPush" WHERE "deviceId" = ANY(ARRAY(SELECT "id" FROM "PushDevice" WHERE "accountId" = ${accountId}::uuid))
    FOR UPDATE`;
  await tx.$executeRaw`
    WITH device AS MATERIALIZED (SELECT "id" FROM "PushDevice" WHERE "accountId" = ${accountId}::uuid),
    received AS (
      SELECT message."id" AS "messageId", device."id" AS "deviceId" FROM device, (
        SELECT "id" FROM "PushMessage" WHERE "accountId" = ${accountId}::uuid
        UNION ALL SELECT "id" FROM "PushMessage" WHERE "accountId" IS NULL AND "deviceId" IS NULL
      ) AS message
      UNION ALL
      SELECT message."id", device."id" FROM device JOIN "PushMessage" AS message ON message."deviceId" = device."id"
    )
    DELETE FROM "PushReceipt" AS receipt USING received
    WHERE receipt."messageId" = received."messageId" AND receipt."deviceId" = received."deviceId"`;
}
