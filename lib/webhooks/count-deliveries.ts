import type { Context } from "../context";
import { MAX_COUNTED } from "../platform/lists";

/** An endpoint's deliveries by state, each counted up to `MAX_COUNTED`. */
export type DeliveryCounts = { pending: number; failed: number; delivered: number };

/**
 * Counts an endpoint's deliveries. Bounded, by indexes: only deliveries that are pending have a next attempt, and the index of
 * those that failed has the condition `<> 'delivered'`.
 */
export async function countDeliveries({ db }: Pick<Context, "db">, endpointId: string): Promise<DeliveryCounts> {
  const [counts] = await db.$queryRaw<DeliveryCounts[]>`
    SELECT
      (SELECT count(*)::int FROM (
        SELECT 1 FROM "WebhookDelivery"
        WHERE "endpointId" = ${endpointId}::uuid AND "nextAttemptAt" IS NOT NULL LIMIT ${MAX_COUNTED}::int
      ) AS pending) AS "pending",
      (SELECT count(*)::int FROM (
        SELECT 1 FROM "WebhookDelivery"
        WHERE "endpointId" = ${endpointId}::uuid AND "state" <> 'delivered' AND "state" = 'failed' LIMIT ${MAX_COUNTED}::int
      ) AS failed) AS "failed",
      (SELECT count(*)::int FROM (
        SELECT 1 FROM "WebhookDelivery"
        WHERE "endpointId" = ${endpointId}::uuid AND "state" = 'delivered' LIMIT ${MAX_COUNTED}::int
      ) AS delivered) AS "delivered"`;
  return counts ?? { pending: 0, failed: 0, delivered: 0 };
}
