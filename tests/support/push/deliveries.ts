import type { PushDeliveryState } from "@/lib/platform/db/generated/client";
import { newId, timeOfId } from "@/lib/platform/db/ids";
import { ctx } from "@/tests/support/context";

/** A delivery with its message, queued or ended. `payload` is the message's. */
export type Delivery = {
  id: string;
  deviceId: string;
  messageId: string;
  eventKey: string;
  kind: string;
  payload: unknown;
  priority: number;
  collapseId: string | null;
  state: PushDeliveryState;
  attempts: number;
  apnsStatus: number | null;
  reason: string | null;
  createdAt: Date;
  expiresAt: Date;
  /** The Unix epoch once it has ended. */
  nextAttemptAt: Date;
  leaseUntil: Date | null;
  sentAt: Date | null;
};

/** Returns the deliveries of an event, a device or an account, oldest first. */
export async function deliveriesOf(of: { eventKey?: string; deviceId?: string; id?: string }): Promise<Delivery[]> {
  const { eventKey = null, deviceId = null, id = null } = of;
  const rows = await ctx().db.$queryRaw<Omit<Delivery, "createdAt">[]>`
    SELECT delivery.*, message."eventKey", message."kind", message."payload", message."priority", message."collapseId"
    FROM (
      SELECT "id", "deviceId", "messageId", CASE WHEN "leaseUntil" IS NULL THEN 'queued' ELSE 'sending' END AS "state",
        "attempts", "apnsStatus", "reason", "expiresAt", "nextAttemptAt", "leaseUntil", NULL::timestamptz AS "sentAt"
      FROM "QueuedPush"
      UNION ALL
      SELECT "id", "deviceId", "messageId", "state"::text, "attempts", "apnsStatus", "reason", "expiresAt",
        to_timestamp(0), NULL, CASE WHEN "state" = 'sent' THEN "endedAt" END
      FROM "PushReceipt"
    ) AS delivery LEFT JOIN "PushMessage" AS message ON message."id" = delivery."messageId"
    WHERE (message."eventKey" = ${eventKey} OR delivery."deviceId" = ${deviceId}::uuid OR delivery."id" = ${id}::uuid)
    ORDER BY delivery."id"`;
  return rows.map((row) => ({ ...row, createdAt: timeOfId(row.id) }));
}

/** Queues a delivery to a device without the checks of `enqueue`. */
export async function insertDelivery(deviceId: string, nextAttemptAt: Date, expiresAt: Date): Promise<void> {
  const { db } = ctx();
  const { id: messageId } = await db.pushMessage.create({
    data: { eventKey: `test:${newId()}`, kind: "custom", payload: {}, priority: 10, expiresAt },
  });
  await db.queuedPush.create({
    data: { deviceId, messageId, id: newId(), nextAttemptAt, expiresAt, queuePriority: 1 },
  });
}

/** Moves the receipts of a device back to the queue, due at a time of the database's clock. */
export async function requeueReceipts(deviceId: string, dueAt: Date = ctx().now()): Promise<void> {
  const { db } = ctx();
  await db.$executeRaw`
    WITH ended AS (DELETE FROM "PushReceipt" WHERE "deviceId" = ${deviceId}::uuid RETURNING *)
    INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority")
    SELECT "deviceId", "messageId", "id", ${dueAt}, "expiresAt", 1 FROM ended`;
}
