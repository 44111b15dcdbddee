import { PURCHASE_ID, REVENUECAT } from "@/app/api/subscription/openapi-examples";
import { foldPurchase } from "@/lib/subscriptions/fold/fold-purchase";
import { revenueCat } from "@/lib/subscriptions/providers/revenuecat";
import type { Purchase } from "@/lib/subscriptions/purchase-state";
import { accountStatus } from "@/lib/subscriptions/status/account-status";
import type { OperationDetails } from "@/scripts/openapi/operation";

/** Returns the response on the day after these events, each of its own purchase. */
function statusAfter(...deliveries: { event: { event_timestamp_ms: number } }[]): unknown {
  const at = new Date("2026-11-21T08:00:00Z");
  const rules = { staleLeewaySeconds: 3600, isSandboxEntitled: false, managementUrls: new Map() };
  const purchases = deliveries.map((delivery): Purchase => {
    const { store, environment, facts } = revenueCat.read(delivery, at);
    const state = foldPurchase([{ id: "1", type: "INITIAL_PURCHASE", ...facts }]);
    const key = { id: PURCHASE_ID, provider: revenueCat.name };
    return { ...state, ...key, store: store ?? "UNKNOWN", environment: environment ?? "UNKNOWN" };
  });
  return JSON.parse(JSON.stringify(accountStatus(purchases, at, rules)));
}

export const GET: OperationDetails = {
  operationId: "getSubscriptionStatus",
  description:
    "Check `isActive` if there is one tier, and `entitlements[].isActive` if there are several. The other fields are for display. The top-level fields describe the best subscription. `entitlements` is the union of all subscriptions, each with the state of the purchase that gives it. One-time purchases without entitlements, such as coins, are only in `/api/subscription/purchases`.\n\nAfter a purchase, `fresh=1` asks the provider before its event has arrived. With `since` and `wait`, the response comes once the status differs; five requests of an account may wait at a time.",
  responses: {
    200: {
      description: "The status at the time `checkedAt`. The `ETag` stays the same until another field changes.",
      headers: ["ETag"],
      examples: {
        "A monthly subscription": statusAfter(REVENUECAT),
        "No subscription": statusAfter(),
      },
    },
  },
};
