import type {
  Prisma,
  PrismaClient,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEvent,
} from "../platform/db/generated/client";
import { isLockedBy, seconds, uuidArray } from "../platform/db/sql";

/** Longer than an attempt takes. If a process is killed, its deliveries are due again after this time. */
const LEASE_SECONDS = 20;
/** The largest SMALLINT: a delivery whose every attempt kills the process must not make the claim fail. */
const MAX_COUNTED_ATTEMPTS = 32_767;

/** A delivery that this process has claimed. `leaseUntil` identifies the claim. `attempts` includes the present one. */
export type ClaimedDelivery = Pick<WebhookDelivery, "eventId" | "endpointId" | "attempts"> &
  Pick<WebhookEvent, "type" | "occurredAt"> &
  Pick<WebhookEndpoint, "url" | "secret" | "previousSecret" | "previousSecretExpiresAt" | "failingSince"> & {
    data: object;
    leaseUntil: Date;
    claimedAt: Date;
  };

/**
 * Claims the delivery that has been due longest, of the endpoints that are enabled and not `busy`; null if there is none.
 * Looks at the first delivery of each endpoint, so that a long queue of a slow one delays no other.
 */
export async function claimDelivery(
  { db, dbNow }: { db: PrismaClient; dbNow: () => Prisma.Sql },
  busy: readonly string[],
): Promise<ClaimedDelivery | null> {
  const [claimed = null] = await db.$queryRaw<ClaimedDelivery[]>`
    WITH due AS MATERIALIZED (
      SELECT first.* FROM "WebhookEndpoint" AS endpoint CROSS JOIN LATERAL (
        SELECT ctid, "nextAttemptAt" FROM "WebhookDelivery"
        WHERE "endpointId" = endpoint."id" AND "nextAttemptAt" <= ${dbNow()}
        ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED
      ) AS first
      WHERE endpoint."disabledAt" IS NULL AND endpoint."id" <> ALL(${uuidArray(busy)})
      ORDER BY first."nextAttemptAt" LIMIT 1
    ), claimed AS (
      UPDATE "WebhookDelivery" AS delivery
      SET "attempts" = least(delivery."attempts" + 1, ${MAX_COUNTED_ATTEMPTS}),
        "nextAttemptAt" = ${dbNow()} + ${seconds(LEASE_SECONDS)},
        "lastAttemptAt" = ${dbNow()}, "durationMs" = NULL, "responseStatus" = NULL, "responseBody" = NULL, "error" = NULL
      WHERE ${isLockedBy("due", "delivery")} RETURNING *
    )
    SELECT claimed."eventId"::text, claimed."endpointId"::text, claimed."attempts",
      claimed."lastAttemptAt" AS "claimedAt", claimed."nextAttemptAt" AS "leaseUntil", event."type", event."data", event."occurredAt", endpoint."url",
      endpoint."secret", endpoint."previousSecret", endpoint."previousSecretExpiresAt", endpoint."failingSince"
    FROM claimed JOIN "WebhookEvent" AS event ON event."id" = claimed."eventId"
      JOIN "WebhookEndpoint" AS endpoint ON endpoint."id" = claimed."endpointId"`;
  return claimed;
}
