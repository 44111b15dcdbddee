import type { Context } from "../../context";
import type { Outgoing } from "../notifications";

/** A sender that is gone gives its rows back after this long. */
const LEASE_SECONDS = 60;

/** A row that is being sent, and what was true when it was taken. `leaseUntil` tells one claim of it from the next. */
export type ClaimedDelivery = Outgoing & {
  attempts: number;
  /** By the database's clock, as everything in the row is. */
  leaseUntil: Date;
  /** When it was asked for, by this process's clock: what has passed since is measured by that. */
  requestedAt: Date;
  /** Whether its environment was. */
  isPaused: boolean;
};

type Claim = { rows: ClaimedDelivery[]; now: Date };

/**
 * Takes up to `most` rows that are due, the longest due first, in one statement with what their devices are by now.
 * Rows that another worker holds are passed over, never waited for. Leases and due times are the database's alone;
 * `now` is its time. What was due at `notBefore` stays due when its clock is set back.
 */
export async function claimDeliveries(
  { db, dbNow, now }: Pick<Context, "db" | "dbNow" | "now">,
  { notBefore, most }: { notBefore: Date; most: number },
): Promise<Claim> {
  const requestedAt = now();
  const claims = await db.$queryRaw<({ now: Date } & (Omit<ClaimedDelivery, "requestedAt"> | { id: null }))[]>`
    WITH due AS MATERIALIZED (
      SELECT "id" FROM "PushDelivery"
      WHERE "state" = 'queued' AND "nextAttemptAt" <= greatest(${dbNow()}, ${notBefore}::timestamptz)
      ORDER BY "nextAttemptAt" LIMIT ${most} FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE "PushDelivery" AS delivery
      SET "state" = 'sending', "leaseUntil" = ${dbNow()} + interval '1 second' * ${LEASE_SECONDS}::int
      FROM due WHERE delivery."id" = due."id"
      RETURNING delivery.*
    )
    SELECT clock."now", claimed."id", claimed."deviceId", claimed."kind", claimed."payload", claimed."priority",
      claimed."collapseId", claimed."expiresAt", claimed."attempts", claimed."leaseUntil",
      device."token", device."environment"::text, device."bundleId", device."status"::text,
      coalesce(pause."until" > clock."now", false) AS "isPaused"
    FROM (SELECT ${dbNow()} AS "now") AS clock
    LEFT JOIN (claimed
      JOIN "PushDevice" AS device ON device."id" = claimed."deviceId"
      LEFT JOIN "PushPause" AS pause ON pause."environment" = device."environment"
    ) ON true`;
  const rows = claims.flatMap((row) => (row.id === null ? [] : [{ ...row, requestedAt }]));
  return { rows, now: claims[0]?.now ?? notBefore };
}

/** When a row was taken, by the database's clock. */
export function claimedAt({ leaseUntil }: Pick<ClaimedDelivery, "leaseUntil">): Date {
  return new Date(leaseUntil.getTime() - LEASE_SECONDS * 1000);
}

/** How long ago a row was taken, at most; `now` is this process's time. */
export function claimAgeMs({ requestedAt }: Pick<ClaimedDelivery, "requestedAt">, now: Date): number {
  return now.getTime() - requestedAt.getTime();
}

/** What the database's clock says, for a row that was taken by it; `now` is this process's time. */
export function databaseTime(row: Pick<ClaimedDelivery, "leaseUntil" | "requestedAt">, now: Date): Date {
  return new Date(claimedAt(row).getTime() + claimAgeMs(row, now));
}
