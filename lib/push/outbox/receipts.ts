import type { Tx } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { empty, sql } from "../../platform/db/sql";
import { SECRET_KINDS } from "../notifications";
import { countOutcomes } from "./outcome-counts";

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

const deleteSecrets = sql`"secret" AS (
      UPDATE "PushMessage" SET "payload" = '{}'
      WHERE "id" = ANY(ARRAY(SELECT "messageId" FROM "ended")) AND "kind" = ANY(${SECRET_KINDS})
    ),`;

/**
 * Deletes the receipts of an account's devices. Receipts have no index by device, since it would cost a write for each
 * notification. So this looks up the receipts of each message that the devices can have received.
 */
export async function removeAccountReceipts(tx: Tx, accountId: string): Promise<void> {
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
