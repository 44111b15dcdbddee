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
 * Returns which of some devices have the Live Activity that a message is for, or can start one of its type. Records the
 * message's time, so that workers leave out earlier updates that are still queued. Locks in the order of devices, so that
 * messages for the same activities do not deadlock.
 */
export async function findLiveActivities(
  tx: Tx,
  { event, name, at }: LiveActivityTarget,
  deviceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const ids = uuidArray(deviceIds);
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
  return new Set(rows.map(({ deviceId }) => deviceId));
}

/** Returns the recipients of claimed deliveries, in their order. `now` is the database's time. */
export async function readLiveActivities(
  { db }: Pick<Context, "db">,
  now: Date,
  rows: readonly { deviceId: string; target: LiveActivityTarget }[],
): Promise<LiveActivityRecipient[]> {
  const requested = rows.map(({ deviceId, target: { event, name } }, i) => ({
    i,
    deviceId,
    name,
    isStart: event === "start",
  }));
  const found = await db.$queryRaw<{ token: string | null; latestAt: Date | null }[]>`
    SELECT coalesce(activity."token", start."token") AS "token", activity."latestAt"
    FROM jsonb_to_recordset(${JSON.stringify(requested)}::jsonb) AS requested(
      "i" int, "deviceId" uuid, "name" text, "isStart" boolean)
    LEFT JOIN "LiveActivity" AS activity ON NOT requested."isStart"
      AND activity."deviceId" = requested."deviceId" AND activity."activityId" = requested."name"
    LEFT JOIN "LiveActivityStartToken" AS start ON requested."isStart"
      AND start."deviceId" = requested."deviceId" AND start."attributesType" = requested."name"
    ORDER BY requested."i"`;
  return rows.map(({ target }, i) => {
    const { token = null, latestAt = null } = found[i] ?? {};
    return { token, isSuperseded: isSuperseded(target, latestAt, now) };
  });
}

/** An end is sent in any case: a later update would not end the activity. A scheduled message supersedes once it is due. */
function isSuperseded({ event, at }: LiveActivityTarget, latestAt: Date | null, now: Date): boolean {
  return event === "update" && latestAt !== null && at < latestAt.getTime() && latestAt <= now;
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
