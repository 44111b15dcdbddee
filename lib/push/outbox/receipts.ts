import type { Prisma } from "../../db/generated/client";
import { empty, sql } from "../../db/sql";
import { SECRET_KINDS } from "../notifications";

/**
 * Returns the CTEs of a statement that has deleted deliveries from `QueuedPush`: they insert the receipts and, if
 * `hasSecrets`, delete the payloads of secret messages. The statement's CTE "ended" has the rows with their new `state`,
 * `attempts`, `apnsStatus` and `reason`. `now` is the database's time.
 */
export function insertReceipts(now: Prisma.Sql | Date, hasSecrets = true): Prisma.Sql {
  return sql`${hasSecrets ? deleteSecrets : empty} "receipt" AS (
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
