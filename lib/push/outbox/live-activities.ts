import type { Context, Tx } from "../../context";
import { sql, uuidArray } from "../../platform/db/sql";
import type { LiveActivityTarget } from "../messages";

/** Where a claimed delivery goes to instead of its device's token. */
export type LiveActivityRecipient = {
  /** null: the app has ended the activity, or APNs has reported its token as invalid. */
  token: string | null;
  /** Whether a newer message shows a newer state already. */
  isSuperseded: boolean;
};

/**
 * Returns which of some devices a message reaches: for a Live Activity, those that have it, or can start one of its type.
 * Records the message's time, so that workers leave out earlier updates that are still queued. Locks in the order of
 * devices, so that messages for the same activities do not deadlock.
 */
export async function selectByLiveActivity<Device extends { id: string }>(
  tx: Tx,
  target: LiveActivityTarget | null,
  devices: readonly Device[],
): Promise<readonly Device[]> {
  if (target === null || devices.length === 0) return devices;
  const { event, name, at } = target;
  const ids = uuidArray(devices.map(({ id }) => id));
  const rows = await tx.$queryRaw<{ deviceId: string }[]>(
    event === "start"
      ? sql`SELECT "deviceId"::text FROM "LiveActivityStartToken" WHERE "deviceId" = ANY(${ids}) AND "attributesType" = ${name}`
      : sql`
        WITH locked AS MATERIALIZED (
          SELECT "deviceId" FROM "LiveActivity" WHERE "deviceId" = ANY(${ids}) AND "activityId" = ${name}
          ORDER BY "deviceId" FOR NO KEY UPDATE
        )
        UPDATE "LiveActivity" AS activity
        SET "latestAt" = greatest(activity."latestAt", ${new Date(at).toISOString()}::timestamptz)
        FROM locked WHERE activity."deviceId" = locked."deviceId" AND activity."activityId" = ${name}
        RETURNING activity."deviceId"::text`,
  );
  const found = new Set(rows.map(({ deviceId }) => deviceId));
  return devices.filter(({ id }) => found.has(id));
}

/**
 * Takes the time of a message back from devices for which it was canceled, so that it supersedes no earlier update: the
 * time of the newest other one that reached the device, or still waits, counts again.
 */
export async function removeTime(tx: Tx, target: LiveActivityTarget, canceledFor: readonly string[]): Promise<void> {
  if (target.event === "start" || canceledFor.length === 0) return;
  const { name, at } = target;
  // A statement of its own: the next one then sees what concurrent transactions have queued.
  const locked = await tx.$queryRaw<{ deviceId: string }[]>`
    SELECT "deviceId"::text FROM "LiveActivity"
    WHERE "deviceId" = ANY(${uuidArray(canceledFor)}) AND "activityId" = ${name} AND "latestAt" = ${new Date(at)}
    ORDER BY "deviceId" FOR NO KEY UPDATE`;
  if (locked.length === 0) return;
  await tx.$executeRaw`
    UPDATE "LiveActivity" AS activity SET "latestAt" = (
      SELECT to_timestamp(max((message."payload" #>> '{liveActivity,at}')::float8) / 1000)
      FROM "PushDevice" AS device CROSS JOIN LATERAL (
        SELECT * FROM "PushMessage" WHERE "accountId" = device."accountId"
        UNION ALL SELECT * FROM "PushMessage" WHERE "deviceId" = device."id"
        UNION ALL SELECT * FROM "PushMessage" WHERE "accountId" IS NULL AND "deviceId" IS NULL
      ) AS message
      WHERE device."id" = activity."deviceId" AND message."kind" IN ('live_activity.update', 'live_activity.end')
        AND message."payload" #>> '{liveActivity,name}' = activity."activityId" AND (EXISTS (
          SELECT FROM "QueuedPush" WHERE "deviceId" = device."id" AND "messageId" = message."id"
        ) OR EXISTS (
          SELECT FROM "PushReceipt"
          WHERE "messageId" = message."id" AND "deviceId" = device."id" AND "state" <> 'cancelled'
        ))
    )
    WHERE "deviceId" = ANY(${uuidArray(locked.map(({ deviceId }) => deviceId))}) AND "activityId" = ${name}`;
}

/**
 * Returns the recipients of claimed deliveries, by id. `now` is the database's time. An end is sent in any case: a later
 * update would not end the activity. A scheduled message supersedes once it is due.
 */
export async function readLiveActivities(
  { db }: Pick<Context, "db">,
  now: Date,
  deliveries: readonly { id: string; deviceId: string; target: LiveActivityTarget }[],
): Promise<ReadonlyMap<string, LiveActivityRecipient>> {
  const requested = deliveries.map(({ target: { event, name, at }, ...ids }) => ({
    ...ids,
    event,
    name,
    at: new Date(at),
  }));
  const rows = await db.$queryRaw<(LiveActivityRecipient & { id: string })[]>`
    SELECT requested."id"::text, coalesce(activity."token", start."token") AS "token",
      coalesce(requested."event" = 'update' AND requested."at" < activity."latestAt"
        AND activity."latestAt" <= ${now}::timestamptz, false) AS "isSuperseded"
    FROM jsonb_to_recordset(${JSON.stringify(requested)}::jsonb) AS requested(
      "id" uuid, "deviceId" uuid, "event" text, "name" text, "at" timestamptz)
    LEFT JOIN "LiveActivity" AS activity ON requested."event" <> 'start'
      AND activity."deviceId" = requested."deviceId" AND activity."activityId" = requested."name"
    LEFT JOIN "LiveActivityStartToken" AS start ON requested."event" = 'start'
      AND start."deviceId" = requested."deviceId" AND start."attributesType" = requested."name"`;
  return new Map(rows.map(({ id, ...recipient }) => [id, recipient]));
}

/** Removes tokens of Live Activities that have ended, or that APNs reported as invalid, unless registered again since. */
export async function removeTokens(
  { db }: Pick<Context, "db">,
  ended: readonly { deviceId: string; token: string; at: Date }[],
): Promise<void> {
  await db.$executeRaw`
    WITH ended AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(ended)}::jsonb) AS ended(
        "deviceId" uuid, "token" text, "at" timestamptz)
    ), activity AS (
      DELETE FROM "LiveActivity" WHERE ("deviceId", "activityId") IN (
        SELECT known."deviceId", known."activityId" FROM "LiveActivity" AS known JOIN ended
          ON ended."deviceId" = known."deviceId" AND ended."token" = known."token"
        WHERE known."registeredAt" <= ended."at" FOR UPDATE OF known SKIP LOCKED
      )
    )
    DELETE FROM "LiveActivityStartToken" WHERE ("deviceId", "attributesType") IN (
      SELECT known."deviceId", known."attributesType" FROM "LiveActivityStartToken" AS known JOIN ended
        ON ended."deviceId" = known."deviceId" AND ended."token" = known."token"
      WHERE known."registeredAt" <= ended."at" FOR UPDATE OF known SKIP LOCKED
    )`;
}
