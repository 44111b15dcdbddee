import type { Context, Tx } from "../context";
import { newId } from "../db/ids";
import { composeNotification, type Message } from "./notifications";

/** One device, or all active devices of an account. */
type Recipient = { deviceId: string } | { accountId: string };

/**
 * The next `limit` devices by id, or those of one app. `perSecond` deliveries become due per second, starting at `from`
 * by the database's clock. A delivery's time to live starts when it is due.
 */
type Broadcast = { afterDeviceId: string; bundleId: string | null; limit: number; from: Date; perSecond: number };

/** The database's time: as SQL, or as read in this transaction. */
type Now = ReturnType<Context["dbNow"]> | Date;

/** `eventKey` identifies the cause: each device is notified of it once, however often it is enqueued. */
export type PushEvent<To = Recipient> = { eventKey: string; to: To; message: Message };

/**
 * Adds a notification to the outbox, in the transaction of its cause. Returns the number of devices. A worker finds it
 * within a second; call `wakePush` after the commit if someone is waiting for it.
 */
export async function enqueue(tx: Tx, now: Now, { eventKey, to, message }: PushEvent): Promise<number> {
  const { deviceId = null, accountId = null } = to as { deviceId?: string; accountId?: string };
  const { added } = await insert(tx, now, { eventKey, message, to: { ...NO_RECIPIENT, deviceId, accountId } });
  return added;
}

/**
 * Adds a notification for every device, one batch a call. Returns the number of deliveries added, and the last device's
 * id for the next call; null after the last batch.
 */
export async function enqueueBroadcast(
  tx: Tx,
  now: Now,
  { eventKey, to, message }: PushEvent<Broadcast>,
): Promise<{ added: number; lastDeviceId: string | null }> {
  return insert(tx, now, { eventKey, message, to: { ...NO_RECIPIENT, ...to } });
}

const NO_RECIPIENT = {
  deviceId: null as string | null,
  accountId: null as string | null,
  afterDeviceId: null as string | null,
  bundleId: null as string | null,
  limit: null as number | null,
  from: null as Date | null,
  perSecond: null as number | null,
};

/**
 * Skips devices that another transaction is deleting, and locks the others until the end of this one. The ids follow the
 * database's clock, since `maintainOutbox` deletes old deliveries by id.
 */
async function insert(tx: Tx, now: Now, { eventKey, to, message }: PushEvent<typeof NO_RECIPIENT>) {
  const { payload, ...row } = composeNotification(message);
  const devices = await tx.$queryRaw<{ id: string; now: Date }[]>`
    SELECT "id", ${now}::timestamptz AS "now" FROM "PushDevice"
    WHERE "status" = ${row.recipientStatus}::"PushDeviceStatus" AND (
      "id" = ${to.deviceId}::uuid OR "accountId" = ${to.accountId}::uuid OR "id" > ${to.afterDeviceId}::uuid
    ) AND (${to.bundleId}::text IS NULL OR "bundleId" = ${to.bundleId})
    ORDER BY "id" LIMIT ${to.limit} FOR KEY SHARE SKIP LOCKED`;
  const deviceIds = devices.map(({ id }) => id);
  const ids = devices.map((device) => newId(device.now));
  if (deviceIds.length === 0) return { added: 0, lastDeviceId: null };
  const added = await tx.$executeRaw`
    INSERT INTO "PushDelivery" ("id", "eventKey", "deviceId", "kind", "payload", "priority", "collapseId",
      "expiresAt", "nextAttemptAt", "createdAt")
    SELECT due."id", ${eventKey}, due."deviceId", ${row.kind}, ${JSON.stringify(payload)}::jsonb, ${row.priority}::int,
      ${row.collapseId}, due."at" + interval '1 second' * ${row.ttlSeconds}::int, due."at", ${now}::timestamptz
    FROM (
      SELECT "id", "deviceId", coalesce(${to.from}::timestamptz, ${now}::timestamptz)
        + interval '1 second' * coalesce(("number" - 1) / ${to.perSecond}::float8, 0) AS "at"
      FROM unnest(${ids}::uuid[], ${deviceIds}::uuid[]) WITH ORDINALITY AS device ("id", "deviceId", "number")
    ) AS due
    ON CONFLICT ("deviceId", "eventKey") DO NOTHING`;
  return { added, lastDeviceId: deviceIds.at(-1) ?? null };
}
