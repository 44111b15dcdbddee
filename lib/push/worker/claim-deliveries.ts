import type { Context, WebPushKeys } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { isLockedBy, seconds, sql } from "../../platform/db/sql";
import { QueuePriority } from "../notifications";
import { readLiveActivities } from "../outbox/live-activities";
import { type Outgoing, prepareMessage } from "../payload";
import type { WebRecipient } from "../web-push";

const LEASE_SECONDS = 60;
/** How exact a device's `lastDeliveredAt` is, so that most deliveries do not write their device. */
const DELIVERED_AT_SECONDS = 60 * 60;

/** A delivery that this worker sends, with its device's state at the claim. `leaseUntil` identifies the claim. */
export type ClaimedPush = Outgoing & {
  attempts: number;
  /** By the database's clock, as every time in the row. */
  claimedAt: Date;
  leaseUntil: Date;
  /** When the claim was requested, by this process's clock; the claim's age is measured from it. */
  requestedAt: Date;
  /** Whether the device's environment was paused. */
  isPaused: boolean;
  /** Whether the device's `lastDeliveredAt` has to be updated. */
  isDeliveredAtOld: boolean;
  /** What a browser's push service needs besides. null: the device is reached through APNs. */
  web: WebRecipient | null;
};

type DeliveryRow = Omit<Outgoing, "expiresAt" | "message" | "liveActivity"> &
  Pick<ClaimedPush, "attempts" | "isDeliveredAtOld"> & { expiresAt: string; webPushKeys: WebPushKeys | null };

/** The result of the claim's statement: one row, because a thousand rows of many columns cost more to read. */
type Result = {
  now: Date;
  deliveries: DeliveryRow[];
  messages: (Parameters<typeof prepareMessage>[0] & { id: string })[];
  paused: string[];
};

/**
 * Claims up to `limit` due deliveries, the urgent ones first and then those due longest, together with their messages
 * and devices, in one statement. Deliveries that were due at `notBefore` stay due when the database's clock is set back.
 * Returns the database's time of the claim, too.
 */
export async function claimDeliveries(
  { db, dbNow, now }: Pick<Context, "db" | "dbNow" | "now">,
  { notBefore, limit }: { notBefore: Date; limit: number },
): Promise<{ deliveries: ClaimedPush[]; now: Date }> {
  const requestedAt = now();
  const at = dbNow();
  const [result] = await db.$queryRaw<Result[]>`
    WITH due AS MATERIALIZED (${selectDue(sql`greatest(${at}, ${notBefore}::timestamptz)`, limit)}),
    claimed AS (
      UPDATE "QueuedPush" AS queued SET "leaseUntil" = ${at}::timestamptz + ${seconds(LEASE_SECONDS)}
      WHERE ${isLockedBy("due", "queued")} RETURNING *
    )
    SELECT ${at}::timestamptz AS "now", coalesce((
      SELECT json_agg(delivery) FROM (
        SELECT claimed."id", device."id" AS "deviceId", claimed."messageId", claimed."expiresAt", claimed."attempts",
          device."token", device."environment", device."bundleId", device."status", device."locale",
          device."webPushKeys",
          coalesce(device."lastDeliveredAt" < ${at}::timestamptz - ${seconds(DELIVERED_AT_SECONDS)}, true)
            AS "isDeliveredAtOld"
        FROM claimed JOIN "PushDevice" AS device ON device."id" = claimed."deviceId"
      ) AS delivery
    ), '[]') AS "deliveries", coalesce((
      SELECT json_agg(message) FROM (
        SELECT "id", "kind", "payload", "priority", "collapseId", "canceledAt" IS NOT NULL AS "isCanceled"
        FROM "PushMessage"
        WHERE "id" = ANY(ARRAY(SELECT DISTINCT "messageId" FROM claimed))
      ) AS message
    ), '[]') AS "messages",
    ARRAY(SELECT "environment"::text FROM "PushPause" WHERE "until" > ${at}) AS "paused"`;
  if (!result) return { deliveries: [], now: notBefore };
  const messages = new Map(result.messages.map(({ id, ...message }) => [id, prepareMessage(message)]));
  const claim = {
    claimedAt: result.now,
    leaseUntil: new Date(result.now.getTime() + LEASE_SECONDS * 1000),
    requestedAt,
    liveActivity: null,
  };
  const deliveries = result.deliveries.map(
    ({ webPushKeys: keys, ...row }): ClaimedPush => ({
      ...row,
      ...claim,
      expiresAt: new Date(row.expiresAt),
      web: keys && { keys, locale: row.locale },
      isPaused: result.paused.includes(row.environment),
      message: messages.get(row.messageId) ?? NO_MESSAGE,
    }),
  );
  return { deliveries: await withLiveActivities({ db }, result.now, deliveries), now: result.now };
}

/** Adds the tokens of Live Activities: one more statement, only if there are any. */
async function withLiveActivities(deps: Pick<Context, "db">, now: Date, rows: ClaimedPush[]): Promise<ClaimedPush[]> {
  const requested = rows.flatMap(({ id, deviceId, message: { liveActivity: target } }) =>
    target ? [{ id, deviceId, target }] : [],
  );
  if (requested.length === 0) return rows;
  const recipientOf = await readLiveActivities(deps, now, requested);
  return rows.map((row) => {
    const liveActivity = recipientOf.get(row.id);
    return liveActivity ? { ...row, token: liveActivity.token ?? "", liveActivity } : row;
  });
}

/** The message of a delivery that outlived it: retention removes messages that have expired. */
const NO_MESSAGE = prepareMessage({ kind: "", priority: 5, collapseId: null, payload: {} });

/**
 * Selects by priority, then by time. Each priority is a range of the index. A single range would also read deliveries of
 * higher priorities that are not due yet. The outer LIMIT stops the loop before lower priorities are read.
 */
function selectDue(dueBy: Prisma.Sql, limit: number): Prisma.Sql {
  return sql`
    SELECT due.* FROM unnest(${Object.values(QueuePriority)}::smallint[]) AS class("priority") CROSS JOIN LATERAL (
      SELECT ctid FROM "QueuedPush"
      WHERE "leaseUntil" IS NULL AND "queuePriority" = class."priority" AND "nextAttemptAt" <= ${dueBy}
      ORDER BY "nextAttemptAt" LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ) AS due LIMIT ${limit}`;
}

/** How long ago a delivery was claimed, at most; `now` is this process's time. */
export function claimAgeMs({ requestedAt }: ClaimedPush, now: Date): number {
  return now.getTime() - requestedAt.getTime();
}

/** The database's time now, derived from a claim; `now` is this process's time. */
export function databaseTime(row: ClaimedPush, now: Date): Date {
  return new Date(row.claimedAt.getTime() + claimAgeMs(row, now));
}
