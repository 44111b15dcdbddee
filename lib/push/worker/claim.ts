import type { Context } from "../../context";
import type { Outgoing } from "../notifications";

/** A sender that is gone gives its rows back after this long. */
const LEASE_SECONDS = 60;

/** A row that is being sent, and what was true when it was taken. `leaseUntil` tells one claim of it from the next. */
export type Claimed = Outgoing & {
  attempts: number;
  leaseUntil: Date;
  /** Its environment's, where that is paused. */
  pausedUntil: Date | null;
};

/**
 * Takes up to `most` rows that are due at `dueAt`, the longest due first, in one statement with what their devices
 * are by now. Rows that another worker holds are passed over, never waited for.
 */
export function claimDue(
  { db }: Pick<Context, "db">,
  { now, dueAt, most }: { now: Date; dueAt: Date; most: number },
): Promise<Claimed[]> {
  const leaseUntil = new Date(now.getTime() + LEASE_SECONDS * 1000);
  return db.$queryRaw<Claimed[]>`
    WITH due AS MATERIALIZED (
      SELECT "id" FROM "PushDelivery" WHERE "state" = 'queued' AND "nextAttemptAt" <= ${dueAt}
      ORDER BY "nextAttemptAt" LIMIT ${most} FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE "PushDelivery" AS delivery SET "state" = 'sending', "leaseUntil" = ${leaseUntil}
      FROM due WHERE delivery."id" = due."id"
      RETURNING delivery.*
    )
    SELECT claimed."id", claimed."deviceId", claimed."kind", claimed."payload", claimed."priority",
      claimed."collapseId", claimed."expiresAt", claimed."attempts", claimed."leaseUntil",
      device."token", device."environment"::text, device."bundleId", device."status"::text,
      pause."until" AS "pausedUntil"
    FROM claimed
    JOIN "PushDevice" AS device ON device."id" = claimed."deviceId"
    LEFT JOIN "PushPause" AS pause ON pause."environment" = device."environment" AND pause."until" > ${now}`;
}

/** When a row was taken. */
export function claimedAt({ leaseUntil }: Pick<Claimed, "leaseUntil">): Date {
  return new Date(leaseUntil.getTime() - LEASE_SECONDS * 1000);
}
