import type { Context } from "../../context";
import { withRetry } from "../../db/with-retry";
import { isDatabaseUnavailable } from "../../errors";
import { connectedPeople } from "./identity-changes";
import { lockPurchases, refoldPurchase } from "./purchases";

type Deps = Pick<Context, "db" | "log" | "now">;
type EventKey = { provider: string; eventId: string };
type Purchase = { id: string; appUserIds: string[] };

/** Lines of one customer that are settled at once. The rest waits for the customer's next event. */
const MAX_PURCHASES = 1_000;

/**
 * Settles anew whose the purchases are that an event says more about: it names their customer and one more name, or its own
 * purchase's customer has one more by another event. RevenueCat, "Webhooks": "make sure to search both the
 * original_app_user_id and the aliases". To be called after the commit of the event: of two that are applied at the
 * same time the later one sees both. Calling it again changes nothing. Each purchase has a transaction of its own: however
 * many there are, none takes long.
 */
export async function linkAliases(deps: Deps, key: EventKey): Promise<void> {
  const { db, log, now } = deps;
  try {
    const purchases = await purchasesToLink(deps, key);
    if (purchases.length === 0) return;
    const names = [...new Set(purchases.flatMap(({ appUserIds }) => appUserIds))];
    if ((await connectedPeople(db, key.provider, names)).isCrowd) return;
    for (const { id } of purchases) {
      await withRetry(() =>
        db.$transaction(async (tx) => {
          for (const purchase of await lockPurchases(tx, [id])) await refoldPurchase(tx, purchase, now());
        }),
      );
    }
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error; // the delivery comes again
    log.error({ err: error, eventId: key.eventId }, "the purchases of a billing event's customer cannot be linked");
  }
}

/** A purchase has every name of its customer's: one that shares a name with an event and lacks another is out of date. */
async function purchasesToLink({ db }: Deps, { provider, eventId }: EventKey): Promise<Purchase[]> {
  return db.$queryRaw`
    WITH event AS MATERIALIZED (
      SELECT "appUserIds", "purchaseId", "transferredFrom" FROM "BillingEvent"
      WHERE provider = ${provider} AND "eventId" = ${eventId}
    )
    SELECT purchase.id, purchase."appUserIds" FROM event JOIN "Purchase" AS purchase ON purchase."appUserIds" && event."appUserIds"
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
