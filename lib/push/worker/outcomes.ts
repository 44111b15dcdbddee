import type { Context } from "../../context";
import { seconds } from "../../db/sql";
import { SECRET_KINDS } from "../notifications";
import type { ClaimedDelivery } from "./claim";

/** What a claimed delivery becomes. */
export type Outcome = { row: ClaimedDelivery; apnsStatus: number | null; reason: string | null } & (
  | { state: "sent" | "cancelled" }
  /** `invalidSince`: the device token is invalid, unless the app has registered since then. */
  | { state: "failed"; invalidSince?: Date }
  /** `nextAttemptAt` is by the database's clock; null: after the pause of the environment. */
  | { state: "queued"; nextAttemptAt: Date | null; isAttempted: boolean }
);

type Deps = Pick<Context, "count" | "db" | "dbNow" | "log">;

/** The reason of deliveries that wait for a pause to end. */
export const PAUSED = "paused";
/** Spreads the deliveries that become due when a pause ends. */
const AFTER_PAUSE_SECONDS = 30;

/**
 * Stores outcomes and invalidates devices. Every statement skips rows that are locked, such as those being deleted, so
 * that a worker cannot be part of a deadlock.
 */
export async function recordOutcomes(deps: Deps, outcomes: readonly Outcome[]): Promise<void> {
  const sent = outcomes.filter(({ state }) => state === "sent");
  const unsent = outcomes.filter(({ state }) => state !== "sent");
  const invalid = outcomes.flatMap((outcome) =>
    outcome.state === "failed" && outcome.invalidSince ? [{ ...outcome, invalidSince: outcome.invalidSince }] : [],
  );
  if (invalid.length > 0) await invalidateDevices(deps, invalid);
  if (sent.length > 0) await recordSent(deps, sent);
  if (unsent.length > 0) await recordUnsent(deps, unsent);
  for (const outcome of outcomes) countResult(deps, outcome);
  logUndelivered(
    deps,
    unsent.filter((outcome) => !isRequeuedUntried(outcome)),
  );
}

/** Applies even if another worker has claimed the delivery meanwhile: it must not be sent again. */
async function recordSent({ db, dbNow }: Deps, sent: readonly Outcome[]): Promise<void> {
  const ids = sent.map(({ row }) => row.id);
  await db.$executeRaw`
    WITH held AS MATERIALIZED (
      SELECT "id" FROM "PushDelivery" WHERE "id" = ANY(${ids}::uuid[]) AND "state" IN ('queued', 'sending')
      FOR UPDATE SKIP LOCKED
    ), sent AS (
      UPDATE "PushDelivery" AS delivery
      SET "state" = 'sent', "apnsStatus" = 200, "reason" = NULL, "sentAt" = ${dbNow()}, "leaseUntil" = NULL,
        "attempts" = "attempts" + 1,
        "payload" = CASE WHEN "kind" = ANY(${SECRET_KINDS}) THEN '{}'::jsonb ELSE "payload" END
      FROM held WHERE delivery."id" = held."id"
      RETURNING delivery."deviceId"
    ), devices AS MATERIALIZED (
      SELECT "id" FROM "PushDevice" WHERE "id" IN (SELECT "deviceId" FROM sent) FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE "PushDevice" AS device SET "lastDeliveredAt" = ${dbNow()} FROM devices WHERE device."id" = devices."id"`;
}

/**
 * Applies only while the claim holds: after its lease another worker may have the delivery. Reads the pause in the same
 * statement, with a lock: `retryDeliveries`, which ends pauses, then finds every delivery that waits for one.
 */
async function recordUnsent({ db, dbNow }: Deps, outcomes: readonly Outcome[]): Promise<void> {
  const records = outcomes.map((outcome) => ({
    id: outcome.row.id,
    environment: outcome.row.environment,
    lease: outcome.row.leaseUntil,
    state: outcome.state,
    attempt: isAttempt(outcome) ? 1 : 0,
    next: outcome.state === "queued" ? outcome.nextAttemptAt : null,
    status: outcome.apnsStatus,
    reason: outcome.reason,
  }));
  await db.$executeRaw`
    WITH outcome AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(records)}::jsonb) AS outcome(
        "id" uuid, "environment" "PushEnvironment", "lease" timestamptz, "state" "PushDeliveryState", "attempt" int,
        "next" timestamptz, "status" int, "reason" text)
    ), pause AS MATERIALIZED (
      SELECT "environment", "until" FROM "PushPause" WHERE "until" > ${dbNow()} FOR KEY SHARE SKIP LOCKED
    ), held AS MATERIALIZED (
      SELECT outcome.* FROM "PushDelivery" AS delivery JOIN outcome ON outcome."id" = delivery."id"
      WHERE delivery."state" = 'sending' AND delivery."leaseUntil" = outcome."lease"
      FOR UPDATE OF delivery SKIP LOCKED
    )
    UPDATE "PushDelivery" AS delivery
    SET "state" = held."state", "leaseUntil" = NULL, "attempts" = "attempts" + held."attempt",
      "nextAttemptAt" = CASE WHEN held."state" <> 'queued' THEN "nextAttemptAt"
        ELSE coalesce(held."next", pause."until" + random() * ${seconds(AFTER_PAUSE_SECONDS)}, ${dbNow()}) END,
      "apnsStatus" = coalesce(held."status", "apnsStatus"),
      "reason" = CASE WHEN held."attempt" = 1 THEN held."reason" ELSE coalesce(held."reason", delivery."reason") END,
      "payload" = CASE WHEN "kind" = ANY(${SECRET_KINDS}) AND held."state" <> 'queued' THEN '{}'::jsonb
        ELSE "payload" END
    FROM held LEFT JOIN pause ON pause."environment" = held."environment" WHERE delivery."id" = held."id"`;
}

/** Skips devices that have registered, or moved to another token, since. */
async function invalidateDevices({ db }: Deps, invalid: (Outcome & { invalidSince: Date })[]): Promise<void> {
  const records = invalid.map(({ row, reason, invalidSince }) => ({
    id: row.deviceId,
    token: row.token,
    environment: row.environment,
    bundle: row.bundleId,
    reason,
    at: invalidSince,
  }));
  await db.$executeRaw`
    WITH invalid AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(records)}::jsonb) AS invalid(
        "id" uuid, "token" text, "environment" "PushEnvironment", "bundle" text, "reason" text, "at" timestamptz)
    ), held AS MATERIALIZED (
      SELECT invalid."id", invalid."reason" FROM "PushDevice" AS device JOIN invalid ON invalid."id" = device."id"
      WHERE device."status" <> 'invalid' AND device."registeredAt" <= invalid."at" AND device."token" = invalid."token"
        AND device."environment" = invalid."environment" AND device."bundleId" = invalid."bundle"
      FOR NO KEY UPDATE OF device SKIP LOCKED
    )
    UPDATE "PushDevice" AS device SET "status" = 'invalid', "invalidReason" = held."reason"
    FROM held WHERE device."id" = held."id"`;
}

function isRequeuedUntried(outcome: Outcome): boolean {
  return outcome.state === "queued" && !outcome.isAttempted;
}

function isAttempt(outcome: Outcome): boolean {
  return outcome.state === "queued" ? outcome.isAttempted : outcome.state !== "cancelled";
}

function countResult({ count }: Deps, outcome: Outcome): void {
  if (outcome.state !== "queued") count("push_delivery", { result: outcome.state });
  else if (outcome.isAttempted) count("push_delivery", { result: "retried" });
}

/** Logs one line for each combination of state, status and reason: an outage of APNs fails thousands of deliveries. */
function logUndelivered({ log }: Deps, outcomes: readonly Outcome[]): void {
  const groups = new Map<string, { state: string; apnsStatus: number | null; reason: string | null; rows: number }>();
  for (const { state, apnsStatus, reason } of outcomes) {
    const key = `${state} ${apnsStatus} ${reason}`;
    const group = groups.get(key) ?? { state, apnsStatus, reason, rows: 0 };
    groups.set(key, { ...group, rows: group.rows + 1 });
  }
  for (const group of groups.values()) log.warn(group, "notifications not delivered");
}
