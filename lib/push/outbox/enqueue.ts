import type { Context, Tx } from "../../context";
import type { Prisma, PushDeviceStatus, PushMessage } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import { isLockedBy, sql } from "../../platform/db/sql";
import type { Message } from "../notifications";
import { composeNotification } from "../payload";
import { type DevicePreferences, joinPreferences, PREFERENCE_COLUMNS, timeToNotify } from "../time-to-notify";
import { selectByLiveActivity } from "./live-activities";
import { cancelRemoved, OUTDATED } from "./receipts";

/** One device, or all active devices of an account. */
type Recipient = { deviceId: string } | { accountId: string };

/** The database's time: as SQL, or as read in this transaction. */
export type Now = ReturnType<Context["dbNow"]> | Date;

/** `eventKey` identifies the cause: each device is notified of it once, however often it is enqueued. */
export type PushEvent = { eventKey: string; to: Recipient; message: Message };

/** A device that this transaction has locked. `now` is the database's time. */
type LockedDevice = DevicePreferences & { id: string; accountId: string; status: PushDeviceStatus; now: Date };

/** Adds one notification to the outbox: see `enqueueAll`. */
export async function enqueue(tx: Tx, now: Now, event: PushEvent): Promise<number> {
  return enqueueAll(tx, now, [event]);
}

/**
 * Adds notifications to the outbox, in the transaction of their causes: two statements, however many events. Leaves out
 * those that the devices' owners have turned off, and postpones others to the end of their quiet hours. Returns the
 * number of deliveries. A worker finds them within a second; call `wakePush` after the commit if someone waits for them.
 * @throws RangeError for a payload over 4,096 bytes
 */
export async function enqueueAll(tx: Tx, now: Now, events: readonly PushEvent[]): Promise<number> {
  const messages = events.map(({ eventKey, to, message }) => newMessage(eventKey, message, to));
  const devices = await lockRecipients(tx, now, messages);
  const devicesOf = new Map<string | null, LockedDevice[]>();
  for (const device of devices) {
    for (const key of [device.id, device.accountId]) devicesOf.set(key, [...(devicesOf.get(key) ?? []), device]);
  }
  const deliveries: NewDelivery[] = [];
  for (const message of messages) {
    const known = devicesOf.get(message.accountId ?? message.deviceId) ?? [];
    const admitted = known.filter(({ status }) => status === message.recipientStatus);
    const recipients = await selectByLiveActivity(tx, message.liveActivity, admitted);
    deliveries.push(...recipients.flatMap((device) => toDelivery(message, device) ?? []));
  }
  return insertDeliveries(tx, deliveries);
}

/** Not IS NULL: PostgreSQL could choose the index of all unclaimed deliveries. */
const isUnclaimed = sql`num_nonnulls("leaseUntil") = 0`;

/**
 * Cancels the unclaimed deliveries of events that are no longer true. Their messages expire, so that a worker cancels the
 * claimed ones if it has to send them again. Their rows stay free for its outcomes.
 */
export async function cancelEvents(tx: Tx, now: Now, eventKeys: string[]): Promise<void> {
  await tx.$executeRaw`
    WITH message AS (
      UPDATE "PushMessage" SET "expiresAt" = least("expiresAt", ${now}::timestamptz)
      WHERE "eventKey" = ANY(${eventKeys}::text[]) RETURNING "id", "accountId"
    ), unclaimed AS MATERIALIZED (
      SELECT queued.ctid FROM message JOIN "PushDevice" AS device USING ("accountId") CROSS JOIN LATERAL (
        SELECT ctid FROM "QueuedPush"
        WHERE "deviceId" = device."id" AND "messageId" = message."id" AND ${isUnclaimed} FOR UPDATE
      ) AS queued
    ), removed AS (
      DELETE FROM "QueuedPush" AS queued WHERE ${isLockedBy("unclaimed", "queued")} RETURNING *
    ), ${cancelRemoved(sql`${now}::timestamptz`, OUTDATED)}
    SELECT 1`;
}

function newMessage(eventKey: string, message: Message, to: Recipient): NewPushMessage {
  const { deviceId = null, accountId = null } = to as { deviceId?: string; accountId?: string };
  return { ...composeNotification(message), id: newId(), eventKey, accountId, deviceId };
}

/**
 * Returns the delivery to a device; null if its owner has turned the kind off. The id follows the database's clock, so
 * that ids sort by time whichever process creates them. What expires within the quiet hours is dropped at their end.
 */
function toDelivery(message: NewPushMessage, device: LockedDevice): NewDelivery | null {
  const { id: deviceId, now } = device;
  const dueAt = timeToNotify(message.kind, now, device);
  const expiresAt = new Date(now.getTime() + 1000 * message.ttlSeconds);
  return dueAt && { message, deviceId, id: newId(now), dueAt, expiresAt };
}

/** Skips devices that another transaction is deleting, and locks the others until the end of this one. */
function lockRecipients(tx: Tx, now: Now, messages: readonly NewPushMessage[]): Promise<LockedDevice[]> {
  const accountIds = messages.flatMap(({ accountId }) => accountId ?? []);
  const deviceIds = messages.flatMap(({ deviceId }) => deviceId ?? []);
  return tx.$queryRaw<LockedDevice[]>`
    SELECT device."id", device."accountId", device."status"::text, ${now}::timestamptz AS "now", ${PREFERENCE_COLUMNS}
    FROM "PushDevice" AS device ${joinPreferences}
    WHERE (device."accountId" = ANY(${accountIds}::uuid[]) OR device."id" = ANY(${deviceIds}::uuid[]))
      AND device."status" <> 'invalid'
    ORDER BY device."id" FOR KEY SHARE OF device SKIP LOCKED`;
}

/** A row of `PushMessage`, unless a message with its event key exists. */
type NewPushMessage = ReturnType<typeof composeNotification> &
  Pick<PushMessage, "id" | "eventKey" | "accountId" | "deviceId">;

/** A row of `QueuedPush`, unless the device was notified of the event. Times are by the database's clock. */
type NewDelivery = Queueable & { message: NewPushMessage };

/** A row of `QueuedPush` for a message that is stored. */
export type Queueable = {
  message: Pick<NewPushMessage, "eventKey" | "queuePriority">;
  deviceId: string;
  id: string;
  dueAt: Date;
  expiresAt: Date;
};

/**
 * Inserts deliveries and their messages, and returns the number of deliveries inserted. One statement, and a second one
 * if some of the events are known. By then their messages are locked, so the second statement sees every delivery that
 * another transaction has inserted for them.
 */
async function insertDeliveries(tx: Tx, deliveries: readonly NewDelivery[]): Promise<number> {
  if (deliveries.length === 0) return 0;
  const messages = uniqueMessages(deliveries);
  const idOf = new Map(messages.map(({ id, eventKey }) => [eventKey, id]));
  const [result] = await tx.$queryRaw<{ added: number; known: { id: string; eventKey: string }[] }[]>`
    WITH message AS (${upsertMessages(messages)}),
    added AS (
      ${insertQueued(deliveries, idOf)} JOIN message ON message."id" = delivery."messageId"
      ON CONFLICT DO NOTHING RETURNING 1
    )
    SELECT (SELECT count(*)::int FROM added) AS "added", coalesce((
      SELECT jsonb_agg(message) FROM message WHERE "id" <> ALL(${[...idOf.values()]}::uuid[])
    ), '[]') AS "known"`;
  if (!result || result.known.length === 0) return result?.added ?? 0;
  const knownIdOf = new Map(result.known.map(({ id, eventKey }) => [eventKey, id]));
  const repeated = deliveries.filter(({ message }) => knownIdOf.has(message.eventKey));
  return result.added + (await insertRepeated(tx, repeated, knownIdOf));
}

/**
 * Inserts deliveries of messages that are stored, unless the device was notified of the event. Returns how many. The
 * transaction has locked the messages.
 */
export function insertRepeated(
  tx: Tx,
  deliveries: readonly Queueable[],
  messageIdOf: ReadonlyMap<string, string>,
): Promise<number> {
  return tx.$executeRaw`
    ${insertQueued(deliveries, messageIdOf)} JOIN "PushMessage" AS message ON message."id" = delivery."messageId"
    WHERE NOT EXISTS (
      SELECT 1 FROM "PushReceipt" AS receipt
      WHERE receipt."messageId" = delivery."messageId" AND receipt."deviceId" = delivery."deviceId"
    )
    ON CONFLICT DO NOTHING`;
}

/** The messages of the deliveries, the first of each event, with the time at which the last delivery expires. */
function uniqueMessages(deliveries: readonly NewDelivery[]) {
  const messages = new Map<string, NewPushMessage & { expiresAt: Date }>();
  for (const { message, expiresAt } of deliveries) {
    const known = messages.get(message.eventKey);
    if (!known) messages.set(message.eventKey, { ...message, expiresAt });
    else if (known.expiresAt < expiresAt) known.expiresAt = expiresAt;
  }
  return [...messages.values()];
}

/** Locks the messages that exist, in the same order in all transactions, so that they do not deadlock. */
function upsertMessages(messages: ReturnType<typeof uniqueMessages>): Prisma.Sql {
  return sql`
    INSERT INTO "PushMessage" AS known ("id", "eventKey", "accountId", "deviceId", "kind", "payload", "priority",
      "collapseId", "expiresAt")
    SELECT * FROM jsonb_to_recordset(${JSON.stringify(messages)}::jsonb) AS message("id" uuid, "eventKey" text,
      "accountId" uuid, "deviceId" uuid, "kind" text, "payload" jsonb, "priority" smallint, "collapseId" text,
      "expiresAt" timestamptz)
    ORDER BY "eventKey"
    ON CONFLICT ("eventKey") DO UPDATE SET "expiresAt" = greatest(known."expiresAt", EXCLUDED."expiresAt")
    RETURNING "id", "eventKey"`;
}

/** The beginning of an INSERT of deliveries: a JOIN of `delivery` with their messages and a WHERE have to follow. */
function insertQueued(deliveries: readonly Queueable[], messageIdOf: ReadonlyMap<string, string>): Prisma.Sql {
  return sql`
    INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority")
    SELECT delivery."deviceId", delivery."messageId", delivery."id", delivery."dueAt", delivery."expiresAt",
      delivery."queuePriority"
    FROM unnest(
      ${deliveries.map(({ deviceId }) => deviceId)}::uuid[],
      ${deliveries.map(({ message }) => messageIdOf.get(message.eventKey))}::uuid[],
      ${deliveries.map(({ id }) => id)}::uuid[],
      ${deliveries.map(({ dueAt }) => dueAt.toISOString())}::timestamptz[],
      ${deliveries.map(({ expiresAt }) => expiresAt.toISOString())}::timestamptz[],
      ${deliveries.map(({ message }) => message.queuePriority)}::smallint[],
      ${deliveries.map(({ message }) => message.eventKey)}::text[]
    ) AS delivery("deviceId", "messageId", "id", "dueAt", "expiresAt", "queuePriority", "eventKey")`;
}
