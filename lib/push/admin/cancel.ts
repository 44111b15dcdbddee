import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import type { PushMessage } from "../../platform/db/generated/client";
import { isLockedBy } from "../../platform/db/sql";
import type { Operator } from "../../principal";
import type { LiveActivityTarget } from "../messages";
import { removeTime } from "../outbox/live-activities";
import { CANCELED, cancelRemoved, hasQueuedDeliveries } from "../outbox/receipts";
import { showMessage } from "./list-messages";

type Locked = Pick<PushMessage, "id" | "kind" | "accountId" | "deviceId" | "canceledAt" | "expiresAt"> & {
  liveActivity: LiveActivityTarget | null;
  now: Date;
};

/** Cancels the deliveries of a message that are not sent yet. Does nothing if there are none. @throws AppError not_found */
export async function cancelMessage(deps: Pick<Context, "db" | "dbNow" | "now">, operator: Operator, id: string) {
  await deps.db.$transaction(async (tx) => {
    const { kind, canceledAt, isLeft } = await cancelDeliveries(tx, deps, id);
    if (!isLeft || canceledAt !== null) return;
    const event = { type: "push_canceled", target: `push:${id}`, details: { kind } } as const;
    await recordOperatorEvent(tx, deps.now(), operator, event);
  });
  return showMessage(deps, id);
}

/**
 * Cancels the deliveries of a message that no worker has claimed, and what a broadcast has yet to queue. Deliveries of a
 * broadcast that are in the queue end when they are due: a worker finds that their message is canceled. Returns the message
 * before, and whether anything was left.
 * @throws AppError not_found
 */
export async function cancelDeliveries(
  tx: Tx,
  { dbNow }: Pick<Context, "dbNow">,
  id: string,
): Promise<Locked & { isLeft: boolean }> {
  const [message] = await tx.$queryRaw<Locked[]>`
    SELECT "id"::text, "kind", "accountId"::text, "deviceId"::text, "canceledAt", "expiresAt",
      "payload" -> 'liveActivity' AS "liveActivity", ${dbNow()} AS "now"
    FROM "PushMessage" WHERE "id" = ${id}::uuid FOR NO KEY UPDATE`;
  if (!message) throw new AppError("not_found");
  const { accountId, deviceId, expiresAt, now } = message;
  const yetToQueue = { messageId: id, endedAt: null };
  const { count: stopped } = await tx.pushBroadcast.updateMany({ where: yetToQueue, data: { endedAt: now } });
  const isBroadcast = accountId === null && deviceId === null;
  const isWaiting = isBroadcast
    ? stopped > 0 || (expiresAt > now && (await isInQueue(tx, id)))
    : await endDeliveries(tx, message);
  const isLeft = isWaiting || stopped > 0;
  if (isLeft) await tx.pushMessage.updateMany({ where: { id, canceledAt: null }, data: { canceledAt: now } });
  return { ...message, isLeft };
}

/** Whether a broadcast, all of whose deliveries are queued, still has some waiting. */
async function isInQueue(tx: Tx, id: string): Promise<boolean> {
  const [waiting] = await tx.$queryRaw<{ isLeft: boolean }[]>`
    SELECT ${hasQueuedDeliveries} AS "isLeft" FROM "PushBroadcast" AS broadcast WHERE "messageId" = ${id}::uuid`;
  return waiting?.isLeft ?? true; // an announcement of an earlier release: it queued every delivery at once
}

async function endDeliveries(tx: Tx, { id, accountId, deviceId, liveActivity, now }: Locked): Promise<boolean> {
  const [result] = await tx.$queryRaw<{ isLeft: boolean; canceledFor: string[] }[]>`
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
    ), ${cancelRemoved(now, CANCELED)}
    SELECT EXISTS (SELECT 1 FROM waiting) AS "isLeft", ARRAY(SELECT "deviceId"::text FROM removed) AS "canceledFor"`;
  if (liveActivity && result) await removeTime(tx, liveActivity, result.canceledFor);
  return result?.isLeft ?? false;
}
