import type { Context, Tx } from "../../context";
import type { PushBroadcast, PushMessage } from "../../platform/db/generated/client";
import { NIL_ID, newId } from "../../platform/db/ids";
import { seconds, sql, uuidArray } from "../../platform/db/sql";
import type { LiveActivityTarget } from "../messages";
import { type Message, optionsOfKind, QueuePriority } from "../notifications";
import { composeNotification } from "../payload";
import { timeToNotify } from "../time-to-notify";
import { insertRepeated, type Now, type Queueable } from "./enqueue";
import { selectByLiveActivity } from "./live-activities";
import { CANCELED, countOutcomes } from "./receipts";
import { BATCH_SIZE, type Candidate, type MessageTarget, readCandidates, selectAudience } from "./recipients";

/**
 * Deliveries are queued only this long before they are due: few of a broadcast are in the queue at a time, and they end
 * soon if it is canceled.
 */
const QUEUED_AHEAD_SECONDS = 60;

type NewPushBroadcast = Partial<MessageTarget> & {
  /** Identifies the event. Each device is notified of it once. */
  eventKey: string;
  message: Message;
  /** The app whose devices receive it. null: every app. */
  bundleId: string | null;
  perSecond: number;
  estimatedDevices: number;
  /** When the first delivery is due. null: now. */
  startsAt?: Date | null;
};

/**
 * Stores a message for many devices or a later time, and returns its id. Workers queue its deliveries. A message that is
 * still being queued stays as it is. One that was sent or canceled starts again, for the devices that did not get it.
 */
export async function startBroadcast(tx: Tx, now: Now, broadcast: NewPushBroadcast): Promise<string> {
  const { eventKey, bundleId, perSecond, estimatedDevices, startsAt = null } = broadcast;
  const { accountId = null, deviceId = null, audience = null } = broadcast;
  const { kind, payload, priority, collapseId, ttlSeconds } = composeNotification(broadcast.message);
  const from = sql`greatest(${startsAt}::timestamptz, ${now}::timestamptz)`;
  const [row] = await tx.$queryRaw<{ id: string }[]>`
    WITH message AS (
      INSERT INTO "PushMessage" AS known ("id", "eventKey", "accountId", "deviceId", "kind", "payload", "priority",
        "collapseId", "expiresAt")
      VALUES (${newId()}::uuid, ${eventKey}, ${accountId}::uuid, ${deviceId}::uuid, ${kind},
        ${JSON.stringify(payload)}::jsonb, ${priority}::smallint, ${collapseId}, ${from} + ${seconds(ttlSeconds)})
      ON CONFLICT ("eventKey") DO UPDATE SET "canceledAt" = NULL,
        "expiresAt" = greatest(known."expiresAt", EXCLUDED."expiresAt")
      RETURNING "id"
    ), broadcast AS (
      INSERT INTO "PushBroadcast" AS known ("messageId", "bundleId", "audience", "ttlSeconds", "perSecond",
        "estimatedDevices", "createdAt", "afterDeviceId", "startsAt", "nextDueAt")
      SELECT "id", ${bundleId}, ${audience && JSON.stringify(audience)}::jsonb, ${ttlSeconds}::int, ${perSecond}::int,
        ${estimatedDevices}::int, ${now}::timestamptz, ${NIL_ID}::uuid, ${from}, ${from}
      FROM message
      ON CONFLICT ("messageId") DO UPDATE SET "bundleId" = EXCLUDED."bundleId", "audience" = EXCLUDED."audience",
        "ttlSeconds" = EXCLUDED."ttlSeconds", "perSecond" = EXCLUDED."perSecond",
        "estimatedDevices" = EXCLUDED."estimatedDevices", "afterDeviceId" = EXCLUDED."afterDeviceId",
        "startsAt" = EXCLUDED."startsAt", "nextDueAt" = EXCLUDED."nextDueAt", "endedAt" = NULL
      WHERE known."endedAt" IS NOT NULL
    )
    SELECT "id"::text FROM message`;
  if (!row) throw new Error("the message was not stored");
  return row.id;
}

type Row = MessageTarget &
  Pick<PushMessage, "eventKey" | "kind"> &
  Pick<
    PushBroadcast,
    "messageId" | "bundleId" | "perSecond" | "afterDeviceId" | "queued" | "ttlSeconds" | "nextDueAt"
  > & {
    liveActivity: LiveActivityTarget | null;
    /** Its `nextDueAt`, or now if that is over. */
    from: Date;
    now: Date;
  };

/**
 * Queues the next deliveries of one broadcast that is due, spread over time at the broadcast's rate. Returns whether
 * there was one: call it again. The deliveries and the broadcast's progress are stored in one transaction, so a process
 * can be killed at any time, and several may call this.
 */
export function queueBroadcast(deps: Pick<Context, "db" | "dbNow" | "entitledAccounts">): Promise<boolean> {
  const { db, dbNow } = deps;
  return db.$transaction(async (tx) => {
    const [row] = await tx.$queryRaw<Row[]>`
      SELECT broadcast."messageId"::text, message."eventKey", message."kind", message."accountId"::text,
        message."deviceId"::text, broadcast."bundleId", broadcast."audience", broadcast."ttlSeconds", broadcast."perSecond",
        broadcast."afterDeviceId"::text, broadcast."queued", broadcast."nextDueAt", message."payload" -> 'liveActivity' AS "liveActivity",
        greatest(broadcast."nextDueAt", ${dbNow()}::timestamptz) AS "from", ${dbNow()}::timestamptz AS "now"
      FROM "PushBroadcast" AS broadcast JOIN "PushMessage" AS message ON message."id" = broadcast."messageId"
      WHERE broadcast."endedAt" IS NULL
        AND broadcast."nextDueAt" <= ${dbNow()}::timestamptz + ${seconds(QUEUED_AHEAD_SECONDS)}
      ORDER BY broadcast."messageId" LIMIT 1 FOR UPDATE OF broadcast SKIP LOCKED FOR NO KEY UPDATE OF message SKIP LOCKED`;
    if (!row) return false;
    const options = optionsOfKind(row.kind);
    const devices = options ? await nextDevices(tx, row, options.recipientStatus) : [];
    const chosen = await selectAudience(deps, tx, devices, row.audience);
    const recipients = await selectByLiveActivity(tx, row.liveActivity, chosen);
    const queued = options ? await queueDevices(tx, row, options, recipients) : 0;
    const nextDueAt = dueAt(row, recipients.length);
    const afterDeviceId = devices.at(-1)?.id ?? row.afterDeviceId;
    const endedAt = devices.length < BATCH_SIZE ? row.now : null;
    const data = { queued: { increment: queued }, nextDueAt, afterDeviceId, endedAt };
    await tx.pushBroadcast.updateMany({ where: { messageId: row.messageId }, data });
    return true;
  });
}

function nextDevices(tx: Tx, row: Row, status: string): Promise<Candidate[]> {
  const { accountId, deviceId, bundleId } = row;
  const audience = row.audience ?? (bundleId === null ? null : { bundleId });
  const lock = sql`FOR KEY SHARE OF device SKIP LOCKED`;
  return readCandidates(tx, { accountId, deviceId, audience }, { status, after: row.afterDeviceId, lock });
}

type Options = NonNullable<ReturnType<typeof optionsOfKind>>;

/** Returns how many more devices the message is queued for. */
async function queueDevices(tx: Tx, row: Row, options: Options, devices: readonly Candidate[]): Promise<number> {
  const { messageId, eventKey } = row;
  const deliveries = devices.flatMap((device, i) => toDelivery(row, options, device, i) ?? []);
  const last = deliveries.at(-1);
  if (!last) return 0;
  await tx.pushMessage.updateMany({ where: { id: messageId }, data: { expiresAt: last.expiresAt } });
  const ids = devices.map(({ id }) => id);
  const deleted = await deleteCanceledReceipts(tx, row, ids);
  const queued = await insertRepeated(tx, deliveries, new Map([[eventKey, messageId]]));
  return queued - deleted;
}

/** Returns the delivery to the `i`-th device of a batch; null if its owner has turned the kind off. */
function toDelivery(row: Row, options: Options, device: Candidate, i: number): Queueable | null {
  const { eventKey, kind, now, accountId, deviceId } = row;
  const isDirect = accountId !== null || deviceId !== null;
  const queuePriority = isDirect ? options.queuePriority : QueuePriority.announcement;
  const ttlSeconds = row.ttlSeconds ?? options.ttlSeconds;
  const scheduledAt = dueAt(row, i);
  const notifyAt = timeToNotify(kind, scheduledAt, device);
  const lateMs = row.from.getTime() - row.nextDueAt.getTime(); // nothing ran meanwhile: it is no more useful for that
  const expiresAt = new Date(scheduledAt.getTime() - lateMs + 1000 * ttlSeconds);
  if (!notifyAt) return null;
  // The quiet hours of many devices end at the same time. The broadcast's rate also applies to them from then on.
  const at = notifyAt > scheduledAt ? dueAt({ ...row, from: notifyAt }, row.queued + i) : scheduledAt;
  return { message: { eventKey, queuePriority }, deviceId: device.id, id: newId(now), dueAt: at, expiresAt };
}

/** A broadcast that starts again also reaches the devices for which it was canceled. */
async function deleteCanceledReceipts(tx: Tx, { messageId }: Row, devices: readonly string[]): Promise<number> {
  const [result] = await tx.$queryRaw<{ rows: number }[]>`
    WITH "ended" AS (
      DELETE FROM "PushReceipt" WHERE "messageId" = ${messageId}::uuid AND "deviceId" = ANY(${uuidArray(devices)})
        AND "state" = 'cancelled' AND "reason" = ${CANCELED}
      RETURNING *, ${QueuePriority.announcement}::smallint AS "queuePriority"
    ), ${countOutcomes(sql`"endedAt"`, { count: -1 })}
    SELECT count(*)::int AS "rows" FROM "ended"`;
  return result?.rows ?? 0;
}

/** When the delivery to the `i`-th device of a batch is due. */
function dueAt({ from, perSecond }: Row, i: number): Date {
  return new Date(from.getTime() + (1000 * i) / perSecond);
}
