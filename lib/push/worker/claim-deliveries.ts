import type { Context, WebPushKeys } from "../../context";
import type { Prisma, PushDeviceStatus, PushEnvironment } from "../../platform/db/generated/client";
import { isLockedBy, seconds, sql } from "../../platform/db/sql";
import { QueuePriority } from "../notifications";
import { readLiveActivities } from "../outbox/live-activities";
import { type Outgoing, type PreparedMessage, prepareMessage } from "../payload";
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

/** The claimed deliveries, and the database's time of the claim. */
type Claim = { deliveries: ClaimedPush[]; now: Date };

/** The result of the claim's statement: one row, because a thousand rows of many columns cost more to read. */
type Result = {
  now: Date;
  leaseUntil: Date;
  deliveries: DeliveryValues[];
  messages: (Parameters<typeof prepareMessage>[0] & { id: string })[];
  paused: string[];
};
type DeliveryValues = [
  id: string,
  deviceId: string,
  messageId: string,
  expiresAtSeconds: number,
  attempts: number,
  token: string,
  environment: PushEnvironment,
  bundleId: string,
  status: PushDeviceStatus,
  isDeliveredAtOld: boolean,
  locale: string | null,
  webPushKeys: WebPushKeys | null,
  appUrl: string | null,
];

/**
 * Claims up to `limit` due deliveries, the urgent ones first and then those due longest, together with their messages
 * and devices, in one statement. Deliveries that were due at `notBefore` stay due when the database's clock is set back.
 */
export async function claimDeliveries(
  { db, dbNow, now }: Pick<Context, "db" | "dbNow" | "now">,
  { notBefore, limit }: { notBefore: Date; limit: number },
): Promise<Claim> {
  const requestedAt = now();
  const at = dbNow();
  const leaseUntil = sql`${at}::timestamptz + ${seconds(LEASE_SECONDS)}`;
  const [result] = await db.$queryRaw<Result[]>`
    WITH due AS MATERIALIZED (${selectDue(sql`greatest(${at}, ${notBefore}::timestamptz)`, limit)}),
    claimed AS (
      UPDATE "QueuedPush" AS queued SET "leaseUntil" = ${leaseUntil}
      WHERE ${isLockedBy("due", "queued")} RETURNING *
    )
    SELECT ${at}::timestamptz AS "now", ${leaseUntil} AS "leaseUntil", coalesce((
      SELECT json_agg(json_build_array(claimed."id", device."id", claimed."messageId",
        date_part('epoch', claimed."expiresAt"), claimed."attempts", device."token", device."environment",
        device."bundleId", device."status",
        coalesce(device."lastDeliveredAt" < ${at}::timestamptz - ${seconds(DELIVERED_AT_SECONDS)}, true), device."locale",
        device."webPushKeys", device."appUrl"))
      FROM claimed JOIN "PushDevice" AS device ON device."id" = claimed."deviceId"
    ), '[]') AS "deliveries", coalesce((
      SELECT json_agg(message) FROM (
        SELECT "id", "kind", "payload", "priority", "collapseId", "canceledAt" IS NOT NULL AS "isCanceled",
          "accountId" IS NOT NULL AND "expiresAt" <= ${at}::timestamptz AS "isOutdated"
        FROM "PushMessage"
        WHERE "id" = ANY(ARRAY(SELECT DISTINCT "messageId" FROM claimed))
      ) AS message
    ), '[]') AS "messages",
    ARRAY(SELECT "environment"::text FROM "PushPause" WHERE "until" > ${at}) AS "paused"`;
  if (!result) return { deliveries: [], now: notBefore };
  const messages = new Map(result.messages.map(({ id, ...message }) => [id, prepareMessage(message)]));
  const deliveries = result.deliveries.map((values) => toDelivery(values, result, messages, requestedAt));
  return { deliveries: await withLiveActivities({ db }, result.now, deliveries), now: result.now };
}

/** Adds the tokens of Live Activities, or "" if there is none: one more statement, only if there are any. */
export async function withLiveActivities(
  deps: Pick<Context, "db">,
  now: Date,
  rows: ClaimedPush[],
): Promise<ClaimedPush[]> {
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

function toDelivery(
  values: DeliveryValues,
  { now: claimedAt, leaseUntil, paused }: Result,
  messages: ReadonlyMap<string, PreparedMessage>,
  requestedAt: Date,
): ClaimedPush {
  const [id, deviceId, messageId, expiresAt, attempts, ...ofDevice] = values;
  const [token, environment, bundleId, status, isDeliveredAtOld, locale, keys, appUrl] = ofDevice;
  return {
    id,
    deviceId,
    messageId,
    expiresAt: new Date(1000 * expiresAt),
    attempts,
    token,
    environment,
    bundleId,
    status,
    locale,
    isDeliveredAtOld,
    web: keys && { keys, locale, appUrl },
    liveActivity: null,
    isPaused: paused.includes(environment),
    message: messages.get(messageId) ?? NO_MESSAGE,
    claimedAt,
    leaseUntil,
    requestedAt,
  };
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
