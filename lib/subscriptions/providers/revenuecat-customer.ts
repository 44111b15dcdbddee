import { z } from "zod";
import type { SnapshotEvent } from "../reconcile/place-snapshot";
import { latest } from "../status/purchase-status";
import { buildProviderEvent, snapshotOf } from "./build-event";
import { OptionalBoolean, OptionalText, toDate, withoutRenewalNumber } from "./fields";

const Rfc3339Date = z
  .string()
  .transform((text) => toDate(Date.parse(text)))
  .nullable()
  .catch(null);

const Purchase = z.object({
  /** Google Play's base plan. The webhook appends it to the product id: `PRODUCT:PLAN`. */
  product_plan_identifier: OptionalText,
  is_sandbox: OptionalBoolean,
  purchase_date: Rfc3339Date,
  store: OptionalText,
  store_transaction_id: OptionalText,
});

const Subscription = Purchase.extend({
  auto_resume_date: Rfc3339Date,
  billing_issues_detected_at: Rfc3339Date,
  expires_date: Rfc3339Date,
  grace_period_expires_date: Rfc3339Date,
  ownership_type: OptionalText,
  period_type: OptionalText,
  refunded_at: Rfc3339Date,
  unsubscribe_detected_at: Rfc3339Date,
});
type Subscription = z.infer<typeof Subscription>;

/** RevenueCat, "REST API v1", Customer Info Model. */
const Customer = z.object({
  subscriber: z.object({
    entitlements: z.record(z.string(), z.object({ product_identifier: OptionalText, expires_date: Rfc3339Date })),
    subscriptions: z.record(z.string(), Subscription),
    non_subscriptions: z.record(z.string(), z.array(Purchase)),
  }),
});
type Customer = z.infer<typeof Customer>["subscriber"];

/**
 * Reads a customer from RevenueCat's API: a snapshot for each subscription and each one-time purchase with entitlements.
 * @throws Error if the response is not as documented
 */
export function readCustomer(response: unknown, appUserId: string, requestedAt: Date): SnapshotEvent[] {
  const parsed = Customer.safeParse(response);
  if (!parsed.success) throw new Error("the billing provider's response is not as documented", { cause: parsed.error });
  const { subscriber } = parsed.data;
  const subscriptions = Object.entries(subscriber.subscriptions).map(([productId, subscription]) => {
    const period_type = subscription.period_type ?? "NORMAL";
    return snapshot(subscriber, productId, { ...subscription, period_type }, appUserId, requestedAt);
  });
  const purchases = Object.entries(subscriber.non_subscriptions).flatMap(([productId, bought]) => {
    const expiresAt = expiryOf(subscriber, productId);
    // The expiry is that of a subscription to the same product.
    const isOfSubscription = expiresAt !== null && Object.hasOwn(subscriber.subscriptions, productId);
    if (isOfSubscription || entitlementsOf(subscriber, productId).length === 0) return [];
    return bought.map((purchase) => {
      const once = { ...NO_SUBSCRIPTION, ...purchase, expires_date: expiresAt };
      return snapshot(subscriber, productId, once, appUserId, requestedAt);
    });
  });
  return [...subscriptions, ...purchases].filter((one): one is SnapshotEvent => one !== null);
}

const NO_SUBSCRIPTION = Subscription.parse({});

/** Returns null without a store and a transaction, which identify the purchase. */
function snapshot(customer: Customer, productId: string, bought: Subscription, appUserId: string, requestedAt: Date) {
  const { store: storeName, store_transaction_id: transactionId, product_plan_identifier: plan } = bought;
  if (storeName === null || transactionId === null) return null;
  const store = storeName.toUpperCase();
  const entitlementIds = entitlementsOf(customer, productId);
  const event = buildProviderEvent({
    type: "SNAPSHOT",
    occurredAt: requestedAt,
    environment: bought.is_sandbox === null ? null : bought.is_sandbox ? "SANDBOX" : "PRODUCTION",
    store,
    purchaseId: withoutRenewalNumber(store, transactionId),
    transactionId,
    customers: [appUserId],
    facts: {
      purchasedAt: bought.purchase_date,
      expiresAt: bought.expires_date,
      gracePeriodEndsAt: bought.grace_period_expires_date,
      resumesAt: bought.auto_resume_date,
      productId: plan === null ? productId : `${productId}:${plan}`,
      // The API lists an entitlement with only one of the products that give it.
      entitlementIds: entitlementIds.length > 0 ? entitlementIds : null,
      periodType: bought.period_type?.toUpperCase() ?? null,
      isFamilyShare: bought.ownership_type === null ? null : bought.ownership_type === "FAMILY_SHARED",
      // The API does not return the end: see withEnd in place-snapshot.ts.
      snapshot: snapshotOf({
        unsubscribedAt: bought.unsubscribe_detected_at,
        billingIssueDetectedAt: bought.billing_issues_detected_at,
        refundedAt: bought.refunded_at,
      }),
    },
  });
  return { ...event, store, transactionId };
}

/** When the entitlements of a one-time purchase end: only they have an expiry in the response. null: one has none. */
function expiryOf({ entitlements }: Customer, productId: string): Date | null {
  const ends = Object.values(entitlements).flatMap(({ product_identifier, expires_date }) =>
    product_identifier === productId ? [expires_date] : [],
  );
  return ends.includes(null) ? null : latest(...ends);
}

function entitlementsOf({ entitlements }: Customer, productId: string): string[] {
  return Object.entries(entitlements).flatMap(([id, { product_identifier }]) =>
    product_identifier === productId ? id : [],
  );
}
