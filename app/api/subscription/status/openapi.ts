import { REVENUECAT } from "@/app/api/subscription/openapi-examples";
import { foldPurchase } from "@/lib/subscriptions/fold/fold-purchase";
import { revenueCat } from "@/lib/subscriptions/providers/revenuecat";
import type { Purchase } from "@/lib/subscriptions/purchase-state";
import { accountStatus } from "@/lib/subscriptions/status";
import type { OperationDetails } from "@/scripts/openapi/operation";

/** What the service answers on the day after these events of one purchase. */
function statusAfter(...deliveries: { event: { event_timestamp_ms: number } }[]): unknown {
  const at = new Date("2026-11-21T08:00:00Z");
  const rules = { staleLeewaySeconds: 3600, isSandboxEntitled: false };
  const lines = deliveries.map((delivery): Purchase => {
    const { store, environment, facts } = revenueCat.read(delivery, at);
    const state = foldPurchase([{ id: "1", type: "INITIAL_PURCHASE", ...facts }]);
    return { ...state, store: store ?? "UNKNOWN", environment: environment ?? "UNKNOWN" };
  });
  return JSON.parse(JSON.stringify(accountStatus(lines, at, rules)));
}

export const GET: OperationDetails = {
  operationId: "getSubscriptionStatus",
  description:
    "Gate access on `isActive` where there is one tier, and on `entitlements[].isActive` where there are several; the rest is for telling people how things stand. The members at the top are those of the best subscription; `entitlements` is the union over all.",
  responses: {
    200: {
      description: "As of `checkedAt`.",
      examples: {
        "A monthly subscription": statusAfter(REVENUECAT),
        "No subscription": statusAfter(),
      },
    },
  },
};
