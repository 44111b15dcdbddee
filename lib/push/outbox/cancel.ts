import type { Tx } from "../../context";
import { isLockedBy, sql } from "../../platform/db/sql";
import { CANCELED } from "../cancellation-reason";
import type { Now } from "./enqueue";
import { hasQueuedDeliveries } from "./outcome-counts";
import { insertReceipts } from "./receipts";

type Row = { accountId: string | null; deviceId: string | null };
type CancelableMessage = Row & { isExpired: boolean };

/**
 * Cancels the deliveries of a message that no worker has claimed, and what a broadcast has yet to queue. Deliveries of a
 * broadcast that are in the queue end when they are due: a worker finds that their message is canceled. Returns whether
 * anything was left; null: there is no such message.
 */
export async function cancelMessage(tx: Tx, now: Now, id: string): Promise<boolean | null> {
  const [message] = await tx.$queryRaw<CancelableMessage[]>`
    SELECT "accountId"::text, "deviceId"::text, "expiresAt" <= ${now}::timestamptz AS "isExpired"
    FROM "PushMessage" WHERE "id" = ${id}::uuid FOR NO KEY UPDATE`;
  if (!message) return null;
  const isBroadcast = message.accountId === null && message.deviceId === null;
  const isStopped = await stopQueueing(tx, now, id);
  const isLeft = isBroadcast
    ? isStopped || (!message.isExpired && (await isWaiting(tx, id)))
    : await endDeliveries(tx, now, id, message);
  if (!isLeft && !isStopped) return false;
  await tx.$executeRaw`
    UPDATE "PushMessage" SET "canceledAt" = coalesce("canceledAt", ${now}::timestamptz) WHERE "id" = ${id}::uuid`;
  return true;
}

/** Returns whether workers had yet to queue deliveries of the message. */
async function stopQueueing(tx: Tx, now: Now, id: string): Promise<boolean> {
  const ended = await tx.$executeRaw`
    UPDATE "PushBroadcast" SET "endedAt" = ${now}::timestamptz
    WHERE "messageId" = ${id}::uuid AND "endedAt" IS NULL`;
  return ended > 0;
}

/** Whether a broadcast, all of whose deliveries are queued, still has some waiting. */
async function isWaiting(tx: Tx, id: string): Promise<boolean> {
  const [waiting] = await tx.$queryRaw<{ isLeft: boolean }[]>`
    SELECT ${hasQueuedDeliveries} AS "isLeft" FROM "PushBroadcast" AS broadcast WHERE "messageId" = ${id}::uuid`;
  return waiting?.isLeft ?? true; // an announcement of an earlier release: it queued every delivery at once
}

async function endDeliveries(tx: Tx, now: Now, id: string, { accountId, deviceId }: Row): Promise<boolean> {
  const [result] = await tx.$queryRaw<{ isLeft: boolean }[]>`
    WITH waiting AS MATERIALIZED (
      SELECT "messageId", "deviceId", "leaseUntil" FROM "QueuedPush" WHERE "messageId" = ${id}::uuid AND "deviceId" = ANY(ARRAY(
        SELECT "id" FROM "PushDevice" WHERE "accountId" = ${accountId}::uuid UNION ALL SELECT ${deviceId}::uuid
      ))
    ), unclaimed AS MATERIALIZED (
      SELECT queued.ctid FROM waiting CROSS JOIN LATERAL (
        SELECT ctid FROM "QueuedPush"
        WHERE "deviceId" = waiting."deviceId" AND "messageId" = waiting."messageId" FOR UPDATE
      ) AS queued
      WHERE waiting."leaseUntil" IS NULL
    ), removed AS (
      DELETE FROM "QueuedPush" AS queued WHERE ${isLockedBy("unclaimed", "queued")} RETURNING *
    ), "ended" AS (
      SELECT "messageId", "deviceId", "id", "expiresAt", 'cancelled' AS "state", "attempts", "apnsStatus",
        ${CANCELED} AS "reason", "queuePriority"
      FROM removed
    ), ${insertReceipts(sql`${now}::timestamptz`)}
    SELECT EXISTS (SELECT 1 FROM waiting) AS "isLeft"`;
  return result?.isLeft ?? false;
}
