import type { Context } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import { empty, isLockedBy, seconds, sql, uuidArray } from "../../platform/db/sql";
import { SECRET_KINDS } from "../notifications";
import { removeTokens } from "../outbox/live-activities";
import { insertReceipts } from "../outbox/receipts";
import { isTurnedOff } from "../time-to-notify";
import { type ClaimedPush, withLiveActivities } from "./claim-deliveries";

export const MAX_ATTEMPTS = 8;

/** What a claimed delivery becomes. */
export type PushOutcome = { row: ClaimedPush; apnsStatus: number | null; reason: string | null } & (
  | { state: "sent" | "cancelled" }
  /** `invalidSince`: the device token is invalid, unless the app has registered since then. */
  | { state: "failed"; invalidSince?: Date }
  /** `nextAttemptAt` is by the database's clock; null: after the pause of the environment. */
  | { state: "queued"; nextAttemptAt: Date | null; isAttempted: boolean }
);

type Deps = Pick<Context, "count" | "db" | "dbNow" | "log">;

/**
 * Joins the queued rows of outcomes that match a condition, and locks these alone. LATERAL: each is looked up by its key;
 * see `isLockedBy`.
 */
const joinQueued = (condition: Prisma.Sql) => sql`CROSS JOIN LATERAL (
    SELECT ctid FROM "QueuedPush"
    WHERE "deviceId" = outcome."deviceId" AND "messageId" = outcome."messageId" AND ${condition} FOR UPDATE SKIP LOCKED
  ) AS queued`;

/** The reason of deliveries that wait for a pause to end. */
export const PAUSED = "paused";
/** This process, as the counts of outcomes name it. */
const WRITER = newId();
/** Spreads the deliveries that become due when a pause ends. */
const AFTER_PAUSE_SECONDS = 30;

/**
 * Stores outcomes and invalidates devices. Every statement skips rows that are locked, such as those being deleted, so
 * that a worker cannot be part of a deadlock.
 */
export async function recordOutcomes(deps: Deps, given: readonly PushOutcome[]): Promise<void> {
  const outcomes = await requeueReplacedTokens(deps, given);
  const sent = outcomes.filter(({ state }) => state === "sent");
  const unsent = outcomes.filter(({ state }) => state === "failed" || state === "cancelled");
  const requeued = outcomes.filter(({ state }) => state === "queued");
  const invalidTokens = (isOfKind: (row: ClaimedPush) => boolean) =>
    outcomes.flatMap((outcome) =>
      outcome.state === "failed" && outcome.invalidSince && isOfKind(outcome.row)
        ? [toEndedToken(outcome, outcome.invalidSince)]
        : [],
    );
  const devices = invalidTokens(({ liveActivity, web }) => liveActivity === null && web === null);
  const subscriptions = invalidTokens(({ liveActivity, web }) => liveActivity === null && web !== null);
  // The token of an ended activity is no longer needed. APNs may also report another activity's token as invalid.
  const ended = sent.filter(({ row }) => row.message.liveActivity?.event === "end");
  const activities = [
    ...ended.map((outcome) => toEndedToken(outcome, outcome.row.claimedAt)),
    ...invalidTokens(({ liveActivity }) => liveActivity !== null),
  ];
  if (devices.length > 0) await invalidateDevices(deps, devices);
  if (sent.length > 0) await recordSent(deps, sent);
  if (unsent.length > 0) await recordUnsent(deps, unsent);
  if (requeued.length > 0) await recordRequeued(deps, requeued);
  if (subscriptions.length > 0) await removeSubscriptions(deps, subscriptions);
  if (activities.length > 0) await removeTokens(deps, activities);
  report(deps, outcomes);
}

/** The token that a delivery went to. It ends unless it was registered again after `at`. */
type EndedToken = ReturnType<typeof toEndedToken>;

function toEndedToken({ row: { deviceId, token, environment, bundleId }, reason }: PushOutcome, at: Date) {
  return { deviceId, token, environment, bundleId, reason, at };
}

/** Requeues what was rejected for a token that was replaced meanwhile: the next attempt goes to the new one. */
async function requeueReplacedTokens({ db }: Deps, outcomes: readonly PushOutcome[]): Promise<readonly PushOutcome[]> {
  const isRejected = (outcome: PushOutcome) => outcome.state === "failed" && outcome.invalidSince !== undefined;
  const rejected = outcomes.filter(isRejected).map(({ row }) => row);
  const [first] = rejected;
  if (!first) return outcomes;
  const ids = rejected.map(({ deviceId }) => deviceId);
  const devices = await db.pushDevice.findMany({ where: { id: { in: ids } }, select: { id: true, token: true } });
  const tokenOfDevice = new Map(devices.map(({ id, token }) => [id, token]));
  const rows = rejected.map((row) => ({ ...row, token: tokenOfDevice.get(row.deviceId) ?? row.token }));
  const current = await withLiveActivities({ db }, first.claimedAt, rows);
  const tokenOf = new Map(current.map(({ id, token }) => [id, token]));
  return outcomes.map((outcome) => {
    const { row, apnsStatus, reason } = outcome;
    const isMoved = isRejected(outcome) && (tokenOf.get(row.id) || row.token) !== row.token;
    if (!isMoved || row.attempts + 1 >= MAX_ATTEMPTS) return outcome;
    return { row, state: "queued", nextAttemptAt: row.claimedAt, isAttempted: true, apnsStatus, reason };
  });
}

/** Applies even if another worker has claimed the delivery in the meantime: it must not be sent again. */
async function recordSent({ db, dbNow }: Deps, sent: readonly PushOutcome[]): Promise<void> {
  const at = dbNow();
  const devices = sent.filter(({ row }) => row.isDeliveredAtOld).map(({ row }) => row.deviceId);
  await db.$executeRaw`
    WITH locked AS MATERIALIZED (
      SELECT queued.ctid FROM unnest(
        ${uuidArray(sent.map(({ row }) => row.deviceId))}, ${uuidArray(sent.map(({ row }) => row.messageId))}
      ) AS outcome("deviceId", "messageId") ${joinQueued(sql`true`)}
    ), ended AS (
      DELETE FROM "QueuedPush" AS queued WHERE ${isLockedBy("locked", "queued")}
      RETURNING "messageId", "deviceId", "id", "expiresAt", 'sent' AS "state", "attempts" + 1 AS "attempts",
        200 AS "apnsStatus", NULL AS "reason", "queuePriority"
    ), ${devices.length > 0 ? setDeliveredAt(at, devices) : empty}
    ${insertReceipts(at, { hasSecrets: sent.some(hasSecret), writer: WRITER })}
    SELECT 1`;
}

/** The CTEs of a statement whose CTE "ended" has the deliveries that were sent. */
function setDeliveredAt(at: Prisma.Sql, deviceIds: readonly string[]): Prisma.Sql {
  return sql`device AS MATERIALIZED (
      SELECT "id" FROM "PushDevice"
      WHERE "id" = ANY(${uuidArray(deviceIds)}) AND "id" IN (SELECT "deviceId" FROM ended)
      FOR NO KEY UPDATE SKIP LOCKED
    ), delivered AS (
      UPDATE "PushDevice" AS delivered SET "lastDeliveredAt" = ${at} FROM device WHERE delivered."id" = device."id"
    ),`;
}

/** Applies only while the claim holds: after its lease another worker may have the delivery. */
async function recordUnsent({ db, dbNow }: Deps, outcomes: readonly PushOutcome[]): Promise<void> {
  await db.$executeRaw`
    WITH outcome AS (${recordsOf(outcomes)}),
    locked AS MATERIALIZED (${lockClaimed}),
    ended AS (
      DELETE FROM "QueuedPush" AS queued USING locked
      WHERE queued.ctid = locked.ctid AND ${isLockedBy("locked", "queued")}
      RETURNING queued."messageId", queued."deviceId", queued."id", queued."expiresAt", locked."state",
        queued."attempts" + locked."attempt" AS "attempts",
        coalesce(locked."apnsStatus", queued."apnsStatus") AS "apnsStatus", locked."reason", queued."queuePriority"
    ), ${insertReceipts(dbNow(), { hasSecrets: outcomes.some(hasSecret), writer: WRITER })}
    SELECT 1`;
}

/** Selects the outcomes whose claim holds, and locks their queued rows. */
const lockClaimed = sql`
  SELECT queued.ctid, outcome.* FROM outcome ${joinQueued(sql`"leaseUntil" = outcome."leaseUntil"`)}`;

function hasSecret({ row }: PushOutcome): boolean {
  return SECRET_KINDS.includes(row.message.kind);
}

/**
 * Applies only while the claim holds. Reads the pause in the same statement, with a lock: `retryDeliveries`, which ends
 * pauses, then finds every delivery that waits for one. What was turned off meanwhile expires: it is not sent again.
 */
async function recordRequeued({ db, dbNow }: Deps, outcomes: readonly PushOutcome[]): Promise<void> {
  await db.$executeRaw`
    WITH outcome AS (${recordsOf(outcomes)}),
    pause AS MATERIALIZED (
      SELECT "environment", "until" FROM "PushPause" WHERE "until" > ${dbNow()} FOR KEY SHARE SKIP LOCKED
    ), locked AS MATERIALIZED (${lockClaimed})
    UPDATE "QueuedPush" AS queued
    SET "leaseUntil" = NULL, "attempts" = "attempts" + locked."attempt",
      "nextAttemptAt" = coalesce(locked."next", pause."until" + random() * ${seconds(AFTER_PAUSE_SECONDS)}, ${dbNow()}),
      "expiresAt" = CASE WHEN ${isTurnedOff} THEN ${dbNow()} ELSE queued."expiresAt" END,
      "apnsStatus" = coalesce(locked."apnsStatus", queued."apnsStatus"),
      "reason" = CASE WHEN locked."attempt" = 1 THEN locked."reason" ELSE coalesce(locked."reason", queued."reason") END
    FROM locked LEFT JOIN pause ON pause."environment" = locked."environment"
    WHERE queued.ctid = locked.ctid AND ${isLockedBy("locked", "queued")}`;
}

function recordsOf(outcomes: readonly PushOutcome[]): Prisma.Sql {
  const records = outcomes.map((outcome) => {
    const { row, state, apnsStatus, reason } = outcome;
    const { deviceId, messageId, environment, leaseUntil } = row;
    const isAttempt = outcome.state === "queued" ? outcome.isAttempted : outcome.state !== "cancelled";
    const next = outcome.state === "queued" ? outcome.nextAttemptAt : null;
    return {
      deviceId,
      messageId,
      environment,
      leaseUntil,
      state,
      attempt: Number(isAttempt),
      next,
      apnsStatus,
      reason,
    };
  });
  return sql`
    SELECT * FROM jsonb_to_recordset(${JSON.stringify(records)}::jsonb) AS outcome("deviceId" uuid, "messageId" uuid,
      "environment" "PushEnvironment", "leaseUntil" timestamptz, "state" text, "attempt" smallint, "next" timestamptz,
      "apnsStatus" smallint, "reason" text)`;
}

/** Skips devices that have registered, or moved to another token, since. */
async function invalidateDevices({ db }: Deps, invalid: readonly EndedToken[]): Promise<void> {
  await db.$executeRaw`
    WITH locked AS MATERIALIZED (
      SELECT device."id", invalid."reason" FROM "PushDevice" AS device
      JOIN jsonb_to_recordset(${JSON.stringify(invalid)}::jsonb) AS invalid(
        "deviceId" uuid, "token" text, "environment" "PushEnvironment", "bundleId" text, "reason" text, "at" timestamptz)
        ON invalid."deviceId" = device."id"
      WHERE device."status" <> 'invalid' AND device."registeredAt" <= invalid."at" AND device."token" = invalid."token"
        AND device."environment" = invalid."environment" AND device."bundleId" = invalid."bundleId"
      FOR NO KEY UPDATE OF device SKIP LOCKED
    )
    UPDATE "PushDevice" AS device SET "status" = 'invalid', "invalidReason" = locked."reason"
    FROM locked WHERE device."id" = locked."id"`;
}

/** Deletes subscriptions of browsers: an endpoint never becomes valid again, and the browser gets another one. */
async function removeSubscriptions({ db }: Deps, invalid: readonly EndedToken[]): Promise<void> {
  await db.$executeRaw`
    DELETE FROM "PushDevice" WHERE "id" IN (
      SELECT device."id" FROM "PushDevice" AS device
      JOIN jsonb_to_recordset(${JSON.stringify(invalid)}::jsonb) AS invalid("deviceId" uuid, "token" text, "at" timestamptz)
        ON device."id" = invalid."deviceId" AND device."token" = invalid."token" AND device."registeredAt" <= invalid."at"
      FOR UPDATE OF device SKIP LOCKED
    )`;
}

/** Counts the attempts. Logs one line for each combination of state, status and reason: an outage fails thousands. */
function report({ count, log }: Deps, outcomes: readonly PushOutcome[]): void {
  const attempted = outcomes.filter((outcome) => outcome.state !== "queued" || outcome.isAttempted);
  for (const { state } of attempted) count("push_delivery", { result: state === "queued" ? "retried" : state });
  const groups = new Map<string, number>();
  for (const { state, apnsStatus, reason } of attempted) {
    if (state === "sent") continue;
    const group = JSON.stringify({ state, apnsStatus, reason });
    groups.set(group, (groups.get(group) ?? 0) + 1);
  }
  for (const [group, rows] of groups) log.warn({ ...JSON.parse(group), rows }, "notifications not delivered");
}
