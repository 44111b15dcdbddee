import type { EventFacts, PurchaseEvent, PurchaseEventType } from "@/lib/subscriptions/events";

const START = Date.UTC(2026, 0, 1);
const DAY_MS = 24 * 60 * 60 * 1000;
export const day = (n: number) => new Date(START + n * DAY_MS);

/** An event on a day, of the period that began on day 0 and ends on day 30 unless `facts` say otherwise. */
export function event(
  type: PurchaseEventType,
  onDay: number,
  facts: Partial<EventFacts> = {},
  id = `${type}-${onDay}`,
): PurchaseEvent {
  return {
    id,
    type,
    occurredAt: day(onDay),
    purchasedAt: day(0),
    expiresAt: day(30),
    gracePeriodEndsAt: null,
    resumesAt: null,
    productId: "monthly",
    newProductId: null,
    entitlementIds: ["pro"],
    periodType: "NORMAL",
    isFamilyShare: false,
    cancelReason: null,
    expirationReason: null,
    isRefund: false,
    revocationType: null,
    revocationPercentage: null,
    billingPlanType: null,
    commitment: null,
    appTransactionId: null,
    identityChange: null,
    snapshot: null,
    payment: null,
    invalidField: null,
    operator: null,
    order: null,
    ...facts,
  };
}
