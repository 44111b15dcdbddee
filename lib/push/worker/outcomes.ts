import type { Context } from "../../context";
import { SECRET_KINDS } from "../notifications";
import type { ClaimedDelivery } from "./claim";

/** What became of a row. */
export type Outcome = { row: ClaimedDelivery; apnsStatus: number | null; reason: string | null } & (
  | { state: "sent" | "cancelled" }
  /** `diedAt`: the device's token is dead, which holds unless the app has registered since. */
  | { state: "failed"; diedAt?: Date }
  /** It goes out again at `nextAttemptAt`, by the database's clock; null: after the pause that it has met. */
  | { state: "queued"; nextAttemptAt: Date | null; isTried: boolean }
);

type Deps = Pick<Context, "count" | "db" | "dbNow" | "log">;

/** The reason of rows that wait for a pause to end: `retry` finds them by it. */
export const PAUSED = "paused";
/** How long they may take to come back, so that they do not come all at once. */
const AFTER_PAUSE_SECONDS = 30;

/**
 * Writes down what became of rows, and which devices are gone. A row that is being deleted at this moment is passed
 * over like everything that is locked: the worker waits for nobody, so it is part of no deadlock.
 */
export async function recordOutcomes(deps: Deps, outcomes: readonly Outcome[]): Promise<void> {
  const sent = outcomes.filter(({ state }) => state === "sent");
  const others = outcomes.filter(({ state }) => state !== "sent");
  const deaths = outcomes.flatMap((outcome) =>
    outcome.state === "failed" && outcome.diedAt ? [{ ...outcome, diedAt: outcome.diedAt }] : [],
  );
  if (deaths.length > 0) await invalidateDevices(deps, deaths);
  if (sent.length > 0) await recordSent(deps, sent);
  if (others.length > 0) await recordUnsent(deps, others);
  for (const outcome of outcomes) countResult(deps, outcome);
  logUndelivered(
    deps,
    others.filter((outcome) => !isUntried(outcome)),
  );
}

/** What reached the device counts whoever holds the row by now: it must not go out once more. */
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
 * By the claim it belongs to: a row whose lease ran out may be another worker's already. A pause holds for as long as
 * the database says at this moment: somebody may have ended it, and whoever does so has to find every row that waits.
 */
async function recordUnsent({ db, dbNow }: Deps, outcomes: readonly Outcome[]): Promise<void> {
  const records = outcomes.map((outcome) => ({
    id: outcome.row.id,
    environment: outcome.row.environment,
    lease: outcome.row.leaseUntil,
    state: outcome.state,
    tried: countsAsAttempt(outcome) ? 1 : 0,
    next: outcome.state === "queued" ? outcome.nextAttemptAt : null,
    status: outcome.apnsStatus,
    reason: outcome.reason,
  }));
  await db.$executeRaw`
    WITH outcome AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(records)}::jsonb) AS outcome(
        "id" uuid, "environment" "PushEnvironment", "lease" timestamptz, "state" "PushDeliveryState", "tried" int, "next" timestamptz, "status" int,
        "reason" text)
    ), pause AS MATERIALIZED (
      SELECT "environment", "until" FROM "PushPause" WHERE "until" > ${dbNow()} FOR KEY SHARE SKIP LOCKED
    ), held AS MATERIALIZED (
      SELECT outcome.* FROM "PushDelivery" AS delivery JOIN outcome ON outcome."id" = delivery."id"
      WHERE delivery."state" = 'sending' AND delivery."leaseUntil" = outcome."lease"
      FOR UPDATE OF delivery SKIP LOCKED
    )
    UPDATE "PushDelivery" AS delivery
    SET "state" = held."state", "leaseUntil" = NULL, "attempts" = "attempts" + held."tried",
      "nextAttemptAt" = CASE WHEN held."state" <> 'queued' THEN "nextAttemptAt"
        ELSE coalesce(held."next", pause."until" + random() * interval '1 second' * ${AFTER_PAUSE_SECONDS}::int, ${dbNow()}) END,
      "apnsStatus" = coalesce(held."status", "apnsStatus"),
      "reason" = CASE WHEN held."tried" = 1 THEN held."reason" ELSE coalesce(held."reason", delivery."reason") END,
      "payload" = CASE WHEN "kind" = ANY(${SECRET_KINDS}) AND held."state" <> 'queued' THEN '{}'::jsonb
        ELSE "payload" END
    FROM held LEFT JOIN pause ON pause."environment" = held."environment" WHERE delivery."id" = held."id"`;
}

async function invalidateDevices({ db }: Deps, deaths: (Outcome & { diedAt: Date })[]): Promise<void> {
  const records = deaths.map(({ row, reason, diedAt }) => ({
    id: row.deviceId,
    token: row.token,
    environment: row.environment,
    bundle: row.bundleId,
    reason,
    at: diedAt,
  }));
  await db.$executeRaw`
    WITH death AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(records)}::jsonb) AS death(
        "id" uuid, "token" text, "environment" "PushEnvironment", "bundle" text, "reason" text, "at" timestamptz)
    ), held AS MATERIALIZED (
      SELECT death."id", death."reason" FROM "PushDevice" AS device JOIN death ON death."id" = device."id"
      WHERE device."status" <> 'invalid' AND device."registeredAt" <= death."at" AND device."token" = death."token"
        AND device."environment" = death."environment" AND device."bundleId" = death."bundle"
      FOR NO KEY UPDATE OF device SKIP LOCKED
    )
    UPDATE "PushDevice" AS device SET "status" = 'invalid', "invalidReason" = held."reason"
    FROM held WHERE device."id" = held."id"`;
}

/** As during a pause: it has met with nothing that is worth a line. */
function isUntried(outcome: Outcome): boolean {
  return outcome.state === "queued" && !outcome.isTried;
}

function countsAsAttempt(outcome: Outcome): boolean {
  return outcome.state === "queued" ? outcome.isTried : outcome.state !== "cancelled";
}

function countResult({ count }: Deps, outcome: Outcome): void {
  if (outcome.state !== "queued") count("push_delivery", { result: outcome.state });
  else if (outcome.isTried) count("push_delivery", { result: "retried" });
}

/** One line for all that went the same way: when APNs is down, rows fail by the thousand. */
function logUndelivered({ log }: Deps, outcomes: readonly Outcome[]): void {
  const groups = new Map<string, { state: string; apnsStatus: number | null; reason: string | null; rows: number }>();
  for (const { state, apnsStatus, reason } of outcomes) {
    const key = `${state} ${apnsStatus} ${reason}`;
    const group = groups.get(key) ?? { state, apnsStatus, reason, rows: 0 };
    groups.set(key, { ...group, rows: group.rows + 1 });
  }
  for (const group of groups.values()) log.warn(group, "notifications not delivered");
}
