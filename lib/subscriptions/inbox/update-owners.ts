import type { Context, Tx } from "../../context";
import { isDatabaseUnavailable } from "../../platform/database-errors";
import { literals, sql } from "../../platform/db/sql";
import { withRetry } from "../../platform/db/transaction";
import type { WebhookRecorder } from "../../webhooks/outbox";
import type { BillingRules } from "../entitlement-rules";
import { IdentityEventType } from "../events";
import { recordStatusChanges } from "../notifications/status-changes";
import { findConnectedCustomers } from "./customers";
import { refoldPurchases } from "./fold";
import { type EventKey, keyOf, keysOf, lockPurchases } from "./lock";

type Deps = Pick<Context, "db" | "log" | "now"> & { webhooks: WebhookRecorder; config: BillingRules };
type OutdatedPurchase = EventKey & { id: string; appUserIds: string[] };

/** The purchases of one customer that are updated for one event. The customer's next event updates the rest. */
const MAX_PURCHASES = 1_000;

/**
 * Updates the owners of the purchases for which events provide further App User IDs: an event names their customer and
 * a further id, or another event does so for the event's own purchase, or for one that it transferred (RevenueCat,
 * "Webhooks": "make sure to search both the original_app_user_id and the aliases"). Must run after the events' commit:
 * of two concurrent events the later one then sees both. Idempotent. Updates each purchase in a transaction of its own,
 * so that none is long.
 */
export async function updateOwners(deps: Deps, events: readonly EventKey[]): Promise<void> {
  try {
    const outdated = await findOutdatedPurchases(deps, events);
    for (const event of events) {
      const own = outdated.filter((purchase) => keyOf(purchase) === keyOf(event));
      await updatePurchases(deps, event, own);
    }
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error; // the provider retries the delivery
    const eventIds = events.map(({ eventId }) => eventId);
    deps.log.error({ err: error, eventIds }, "the owners of a customer's purchases were not updated");
  }
}

async function updatePurchases(deps: Deps, { provider }: EventKey, purchases: OutdatedPurchase[]) {
  const { db } = deps;
  if (purchases.length === 0) return;
  const appUserIds = [...new Set(purchases.flatMap((purchase) => purchase.appUserIds))];
  if ((await findConnectedCustomers(db, provider, appUserIds)).hasSharedId) return;
  for (const { id } of purchases) {
    // An event that was applied meanwhile did not see what this transaction has changed.
    while ((await updatePurchase(deps, id)) && (await isOutdated(db, id)));
  }
}

/** Returns whether the purchase has other App User IDs now. */
function updatePurchase(deps: Deps, id: string): Promise<boolean> {
  return withRetry(() =>
    deps.db.$transaction(async (tx) => {
      const [before] = await lockPurchases(tx, [id]);
      if (!before) return false;
      const changes = (await refoldPurchases(tx, [{ before, newEvents: [] }], deps.now())).flat();
      await recordStatusChanges(tx, deps, changes);
      return changes.some(({ after }) => after.appUserIds.join() !== before.appUserIds.join());
    }),
  );
}

/** Whether an event names the customer of a purchase and an App User ID that the purchase lacks. */
const LACKS_APP_USER_IDS = sql`EXISTS (
  SELECT 1 FROM "BillingEvent" AS other
  WHERE other.provider IS NOT DISTINCT FROM purchase.provider AND other."appUserIds" && purchase."appUserIds"
    AND cardinality(other."appUserIds") > 1 AND NOT other."appUserIds" <@ purchase."appUserIds"
    AND cardinality(other."transferredFrom") = 0)`;

async function isOutdated(db: Tx, id: string): Promise<boolean> {
  const rows = await db.$queryRaw<unknown[]>`
    SELECT 1 FROM "Purchase" AS purchase WHERE id = ${id}::uuid AND ${LACKS_APP_USER_IDS}`;
  return rows.length > 0;
}

/**
 * Finds purchases that share an App User ID with an event and lack another: a current one has all of its customer's.
 * Looks up the App User IDs of each purchase that may have been transferred alone: PostgreSQL would read the whole
 * inbox for as many as it expects.
 */
async function findOutdatedPurchases({ db }: Deps, events: readonly EventKey[]): Promise<OutdatedPurchase[]> {
  return db.$queryRaw`
    WITH event AS MATERIALIZED (
      SELECT provider, "eventId", "appUserIds", "purchaseId", "transferredFrom",
        CASE WHEN type IN (${literals(IdentityEventType.options)})
          THEN ARRAY(SELECT unnest("appUserIds") EXCEPT ALL SELECT unnest("transferredFrom")) END AS owners
      FROM ${keysOf(events)} JOIN "BillingEvent" USING (provider, "eventId")
    )
    SELECT event.provider, event."eventId", outdated.id, outdated."appUserIds"
    FROM event CROSS JOIN LATERAL (
      SELECT purchase.id, purchase."appUserIds" FROM "Purchase" AS purchase
      WHERE purchase."appUserIds" && event."appUserIds" AND purchase.provider IS NOT DISTINCT FROM event.provider
        AND cardinality(event."appUserIds") > 1 AND NOT event."appUserIds" <@ purchase."appUserIds"
        AND cardinality(event."transferredFrom") = 0
      UNION
      SELECT purchase.id, purchase."appUserIds" FROM "Purchase" AS purchase
      WHERE purchase.id = event."purchaseId" AND ${LACKS_APP_USER_IDS}
      UNION
      SELECT transferred.id, transferred."appUserIds" FROM "Purchase" AS candidate CROSS JOIN LATERAL (
        SELECT id, "appUserIds" FROM "Purchase" AS purchase
        WHERE purchase.id = candidate.id AND ${LACKS_APP_USER_IDS} OFFSET 0
      ) AS transferred
      WHERE event.owners IS NOT NULL AND candidate."appUserIds" && event.owners
        AND candidate.provider IS NOT DISTINCT FROM event.provider
      LIMIT ${MAX_PURCHASES}::integer
    ) AS outdated`;
}
