import type { Context } from "../../context";
import type { Prisma } from "../../db/generated/client";
import { seconds, sql } from "../../db/sql";
import { type Outgoing, QueuePriority } from "../notifications";

const LEASE_SECONDS = 60;

/** A delivery that this worker sends, with its device's state at the claim. `leaseUntil` identifies the claim. */
export type ClaimedDelivery = Outgoing & {
  attempts: number;
  /** By the database's clock, as every time in the row. */
  leaseUntil: Date;
  /** When the claim was requested, by this process's clock; the claim's age is measured from it. */
  requestedAt: Date;
  /** Whether the device's APNs environment was paused. */
  isPaused: boolean;
};

/** The claimed deliveries, and the database's time of the claim. */
type Claim = { deliveries: ClaimedDelivery[]; now: Date };

/**
 * Claims up to `limit` due deliveries, those due longest first, together with their devices, in one statement.
 * Deliveries that were due at `notBefore` stay due when the database's clock is set back.
 */
export async function claimDeliveries(
  { db, dbNow, now }: Pick<Context, "db" | "dbNow" | "now">,
  { notBefore, limit }: { notBefore: Date; limit: number },
): Promise<Claim> {
  const requestedAt = now();
  const dueBy = sql`greatest(${dbNow()}, ${notBefore}::timestamptz)`;
  const rows = await db.$queryRaw<({ now: Date } & (Omit<ClaimedDelivery, "requestedAt"> | { id: null }))[]>`
    WITH due AS MATERIALIZED (${selectDue(dueBy, limit)}),
    claimed AS (
      UPDATE "QueuedPush" AS queued SET "leaseUntil" = ${dbNow()} + ${seconds(LEASE_SECONDS)}
      FROM due WHERE queued."deviceId" = due."deviceId" AND queued."messageId" = due."messageId"
      RETURNING queued.*
    )
    SELECT clock."now", claimed."id", claimed."deviceId", claimed."messageId", claimed."expiresAt", claimed."attempts",
      claimed."leaseUntil", coalesce(message."kind", '') AS "kind", message."payload", message."priority",
      message."collapseId", device."token", device."environment"::text, device."bundleId", device."status"::text,
      coalesce(pause."until" > clock."now", false) AS "isPaused"
    FROM (SELECT ${dbNow()} AS "now") AS clock
    LEFT JOIN (claimed
      JOIN "PushDevice" AS device ON device."id" = claimed."deviceId"
      LEFT JOIN "PushMessage" AS message ON message."id" = claimed."messageId"
      LEFT JOIN "PushPause" AS pause ON pause."environment" = device."environment"
    ) ON true`;
  const deliveries = rows.flatMap((row) => (row.id === null ? [] : [{ ...row, requestedAt }]));
  return { deliveries, now: rows[0]?.now ?? notBefore };
}

/**
 * Selects by priority, then by time. Each priority is a range of the index; one range over all of them would also read
 * what is not yet due of the higher ones. The outer LIMIT ends the loop before the priorities that have no turn.
 */
function selectDue(dueBy: Prisma.Sql, limit: number): Prisma.Sql {
  return sql`
    SELECT due.* FROM unnest(${Object.values(QueuePriority)}::smallint[]) AS class("priority") CROSS JOIN LATERAL (
      SELECT "deviceId", "messageId" FROM "QueuedPush"
      WHERE "leaseUntil" IS NULL AND "queuePriority" = class."priority" AND "nextAttemptAt" <= ${dueBy}
      ORDER BY "nextAttemptAt" LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ) AS due LIMIT ${limit}`;
}

/** When a delivery was claimed, by the database's clock. */
export function claimedAt({ leaseUntil }: Pick<ClaimedDelivery, "leaseUntil">): Date {
  return new Date(leaseUntil.getTime() - LEASE_SECONDS * 1000);
}

/** How long ago a delivery was claimed, at most; `now` is this process's time. */
export function claimAgeMs({ requestedAt }: Pick<ClaimedDelivery, "requestedAt">, now: Date): number {
  return now.getTime() - requestedAt.getTime();
}

/** The database's time now, derived from a claim; `now` is this process's time. */
export function databaseTime(row: Pick<ClaimedDelivery, "leaseUntil" | "requestedAt">, now: Date): Date {
  return new Date(claimedAt(row).getTime() + claimAgeMs(row, now));
}
