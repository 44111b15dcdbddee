import type { Context } from "../../context";
import { withRetry } from "../../db/with-retry";
import { isDatabaseUnavailable } from "../../errors";
import type { WebhookRecorder } from "../../webhooks/outbox";
import type { BillingRules } from "../entitlement-rules";
import { recordStatusChanges } from "../notifications/status-changes";
import { findConnectedCustomers } from "./customers";
import type { EventKey } from "./lock-event";
import { lockPurchases } from "./purchases";
import { refoldPurchases } from "./refold";

type Deps = Pick<Context, "db" | "log" | "now"> & {
  webhooks: WebhookRecorder;
  config: BillingRules;
};
/** `id` is null for the event's sibling: see `completeEvents`. */
type Outdated = EventKey & { id: string | null; appUserIds: string[] };

/** The purchases of one customer that are updated for one event. The customer's next event updates the rest. */
const MAX_PURCHASES = 1_000;
/** Longer than two events that were applied at the same time can have been received apart, as two processes' clocks say. */
const SIMULTANEOUS = "1 hour";

/**
 * Completes what events changed, after their commit: of two that were applied at the same time, neither saw the other, and
 * the later one to commit now sees both. Updates the owners of purchases that they tell more about: an event names a
 * purchase's customer and a further App User ID (RevenueCat, "Webhooks": "make sure to search both the
 * original_app_user_id and the aliases"), or a transfer takes it from the customer. Returns the events to apply again: an
 * event of the same transaction, their sibling, is attached to another purchase, although only one of the two names its
 * original transaction.
 *
 * Idempotent. Updates each purchase in a transaction of its own, so that none is long.
 */
export async function completeEvents<E extends EventKey>(deps: Deps, events: readonly E[]): Promise<E[]> {
  try {
    const outdated = await findOutdated(deps, events);
    const ofEvent = (event: EventKey) =>
      outdated.filter(({ eventId, provider }) => eventId === event.eventId && provider === event.provider);
    for (const event of events) await updatePurchases(deps, event, ofEvent(event));
    return events.filter((event) => ofEvent(event).some(({ id }) => id === null));
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error; // the provider retries the delivery
    const eventIds = events.map(({ eventId }) => eventId);
    deps.log.error({ err: error, eventIds }, "the owners of a customer's purchases were not updated");
    return [];
  }
}

async function updatePurchases(deps: Deps, { provider }: EventKey, outdated: Outdated[]) {
  const { db, now } = deps;
  const purchases = outdated.flatMap(({ id, appUserIds }) => (id === null ? [] : { id, appUserIds }));
  if (purchases.length === 0) return;
  const appUserIds = [...new Set(purchases.flatMap((purchase) => purchase.appUserIds))];
  if ((await findConnectedCustomers(db, provider, appUserIds)).hasSharedId) return;
  for (const { id } of purchases) {
    await withRetry(() =>
      db.$transaction(async (tx) => {
        const [before] = await lockPurchases(tx, [id]);
        if (!before) return;
        const changes = await refoldPurchases(tx, [{ before, newEvents: [] }], now());
        await recordStatusChanges(tx, deps, changes.flat());
      }),
    );
  }
}

/**
 * Finds purchases that share an App User ID with an event and lack another (a current one has all of its customer's),
 * those that a simultaneous transfer takes, and events with a sibling.
 */
async function findOutdated({ db }: Deps, events: readonly EventKey[]): Promise<Outdated[]> {
  const providers = events.map(({ provider }) => provider);
  const eventIds = events.map(({ eventId }) => eventId);
  return db.$queryRaw`
    WITH event AS MATERIALIZED (
      SELECT provider, "eventId", "appUserIds", "purchaseId", "transferredFrom", "transactionId", "originalTransactionId",
        "receivedAt"
      FROM unnest(${providers}::text[], ${eventIds}::text[]) AS key (provider, "eventId")
      JOIN "BillingEvent" USING (provider, "eventId")
    )
    SELECT event.provider, event."eventId", outdated.id, outdated."appUserIds"
    FROM event CROSS JOIN LATERAL (
      SELECT purchase.id, purchase."appUserIds" FROM "Purchase" AS purchase
      WHERE purchase."appUserIds" && event."appUserIds" AND purchase.provider IS NOT DISTINCT FROM event.provider
        AND NOT event."appUserIds" <@ purchase."appUserIds" AND cardinality(event."transferredFrom") = 0
      UNION
      SELECT purchase.id, purchase."appUserIds" FROM "Purchase" AS purchase
      WHERE purchase.id = event."purchaseId" AND (
        EXISTS (
          SELECT 1 FROM "BillingEvent" AS other
          WHERE other.provider IS NOT DISTINCT FROM event.provider AND other."appUserIds" && purchase."appUserIds"
            AND NOT other."appUserIds" <@ purchase."appUserIds" AND cardinality(other."transferredFrom") = 0)
        OR EXISTS (
          SELECT 1 FROM "BillingEvent" AS transfer
          WHERE transfer.type IN ('TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED')
            AND transfer."appUserIds" && purchase."appUserIds" AND transfer."transferredFrom" && purchase."appUserIds"
            AND transfer.provider IS NOT DISTINCT FROM event.provider
            AND transfer."receivedAt" > event."receivedAt" - ${SIMULTANEOUS}::interval))
      UNION
      SELECT NULL, '{}' FROM "BillingEvent" AS sibling
      WHERE sibling."transactionId" = event."transactionId" AND sibling.provider IS NOT DISTINCT FROM event.provider
        AND sibling."purchaseId" <> event."purchaseId" AND sibling."originalTransactionId" <> event."originalTransactionId"
        AND event."transactionId" IN (sibling."originalTransactionId", event."originalTransactionId")
      LIMIT ${MAX_PURCHASES}::integer
    ) AS outdated`;
}
