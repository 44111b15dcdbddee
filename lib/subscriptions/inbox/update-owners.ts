import type { Context } from "../../context";
import { withRetry } from "../../db/with-retry";
import { isDatabaseUnavailable } from "../../errors";
import { findConnectedCustomers } from "./customers";
import type { EventKey } from "./lock-event";
import { lockPurchases, refoldPurchase } from "./purchases";

type Deps = Pick<Context, "db" | "log" | "now">;
type OutdatedPurchase = { id: string; appUserIds: string[] };

/** The purchases of one customer that are updated for one event. The customer's next event updates the rest. */
const MAX_PURCHASES = 1_000;

/**
 * Updates the owners of the purchases that an event tells more about: the event names their customer and a further App
 * User ID, or another event does so for the event's own purchase (RevenueCat, "Webhooks": "make sure to search both the
 * original_app_user_id and the aliases"). Must run after the event's commit: of two simultaneous events the later one
 * then sees both. Idempotent. Updates each purchase in a transaction of its own, so that none is long.
 */
export async function updateOwners(deps: Deps, key: EventKey): Promise<void> {
  const { db, log, now } = deps;
  try {
    const purchases = await findOutdatedPurchases(deps, key);
    if (purchases.length === 0) return;
    const appUserIds = [...new Set(purchases.flatMap((purchase) => purchase.appUserIds))];
    if ((await findConnectedCustomers(db, key.provider, appUserIds)).hasSharedId) return;
    for (const { id } of purchases) {
      await withRetry(() =>
        db.$transaction(async (tx) => {
          for (const purchase of await lockPurchases(tx, [id])) await refoldPurchase(tx, purchase, now());
        }),
      );
    }
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error; // the provider retries the delivery
    log.error({ err: error, eventId: key.eventId }, "the owners of a customer's purchases were not updated");
  }
}

/** Finds purchases that share an App User ID with an event and lack another: a current one has all of its customer's. */
async function findOutdatedPurchases({ db }: Deps, { provider, eventId }: EventKey): Promise<OutdatedPurchase[]> {
  return db.$queryRaw`
    WITH event AS MATERIALIZED (
      SELECT "appUserIds", "purchaseId", "transferredFrom" FROM "BillingEvent"
      WHERE provider = ${provider} AND "eventId" = ${eventId}
    )
    SELECT purchase.id, purchase."appUserIds"
    FROM event JOIN "Purchase" AS purchase ON purchase."appUserIds" && event."appUserIds"
    WHERE purchase.provider = ${provider} AND NOT event."appUserIds" <@ purchase."appUserIds"
      AND cardinality(event."transferredFrom") = 0
    UNION
    SELECT purchase.id, purchase."appUserIds" FROM event JOIN "Purchase" AS purchase ON purchase.id = event."purchaseId"
    WHERE EXISTS (
      SELECT 1 FROM "BillingEvent" AS other
      WHERE other.provider = ${provider} AND other."appUserIds" && purchase."appUserIds"
        AND NOT other."appUserIds" <@ purchase."appUserIds" AND cardinality(other."transferredFrom") = 0)
    LIMIT ${MAX_PURCHASES}::integer`;
}
