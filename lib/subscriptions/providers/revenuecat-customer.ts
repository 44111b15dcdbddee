import { z } from "zod";
import { normalizeAppUserIds } from "../app-user-ids";
import type { ProviderEvent } from "../events";
import { Flag, Text, time, withoutRenewalNumber } from "./fields";

const Moment = z
  .string()
  .transform((text) => time(Date.parse(text)))
  .nullable()
  .catch(null);

const Purchase = z.object({
  /** Google Play's base plan; the webhook writes it behind the product: `PRODUCT:PLAN`. */
  product_plan_identifier: Text,
  is_sandbox: Flag,
  purchase_date: Moment,
  store: Text,
  store_transaction_id: Text,
});

const Subscription = Purchase.extend({
  auto_resume_date: Moment,
  billing_issues_detected_at: Moment,
  expires_date: Moment,
  grace_period_expires_date: Moment,
  ownership_type: Text,
  period_type: Text,
  refunded_at: Moment,
  unsubscribe_detected_at: Moment,
});
type Subscription = z.infer<typeof Subscription>;

/** RevenueCat, "REST API v1", Customer Info Model. */
const Customer = z.object({
  subscriber: z.object({
    entitlements: z.record(z.string(), z.object({ product_identifier: Text, expires_date: Moment })),
    subscriptions: z.record(z.string(), Subscription),
    non_subscriptions: z.record(z.string(), z.array(Purchase)),
  }),
});
type Customer = z.infer<typeof Customer>["subscriber"];

/** A purchase as the provider sees it: an event like any other, but that its `originalTransactionId` may not be known. */
export type Snapshot = ProviderEvent & { store: string; transactionId: string };

/**
 * What RevenueCat knows of a customer, one snapshot a subscription, and one for each purchase for life.
 * @throws Error for an answer of another shape
 */
export function readCustomer(answer: unknown, name: string, askedAt: Date): Snapshot[] {
  const parsed = Customer.safeParse(answer);
  if (!parsed.success) throw new Error("the billing provider's answer has another shape", { cause: parsed.error });
  const { subscriber } = parsed.data;
  const subscriptions = Object.entries(subscriber.subscriptions).map(([productId, subscription]) =>
    snapshot(
      subscriber,
      productId,
      { ...subscription, period_type: subscription.period_type ?? "NORMAL" },
      name,
      askedAt,
    ),
  );
  const purchases = Object.entries(subscriber.non_subscriptions).flatMap(([productId, bought]) =>
    bought
      .filter(() => entitlementsOf(subscriber, productId).length > 0)
      .map((purchase) => snapshot(subscriber, productId, { ...NO_SUBSCRIPTION, ...purchase }, name, askedAt)),
  );
  return [...subscriptions, ...purchases].filter((one): one is Snapshot => one !== null);
}

const NO_SUBSCRIPTION = {
  auto_resume_date: null,
  billing_issues_detected_at: null,
  expires_date: null,
  grace_period_expires_date: null,
  ownership_type: null,
  period_type: null,
  refunded_at: null,
  unsubscribe_detected_at: null,
};

/** null: without a store and a transaction it cannot be told which purchase it is. */
function snapshot(
  customer: Customer,
  productId: string,
  bought: Subscription,
  name: string,
  askedAt: Date,
): Snapshot | null {
  const { store: storeName, store_transaction_id: transactionId, product_plan_identifier: plan } = bought;
  if (storeName === null || transactionId === null) return null;
  const store = storeName.toUpperCase();
  const entitlementIds = entitlementsOf(customer, productId);
  return {
    type: "SNAPSHOT",
    environment: bought.is_sandbox === null ? null : bought.is_sandbox ? "SANDBOX" : "PRODUCTION",
    store,
    originalTransactionId: withoutRenewalNumber(store, transactionId),
    transactionId,
    appUserId: name,
    appUserIds: normalizeAppUserIds([name]),
    transferredFrom: [],
    facts: {
      occurredAt: askedAt,
      purchasedAt: bought.purchase_date,
      expiresAt: bought.expires_date,
      gracePeriodEndsAt: bought.grace_period_expires_date,
      resumesAt: bought.auto_resume_date,
      productId: plan === null ? productId : `${productId}:${plan}`,
      newProductId: null,
      // An entitlement is listed with one of the products that give it: where none is, that says nothing.
      entitlementIds: entitlementIds.length > 0 ? entitlementIds : null,
      periodType: bought.period_type?.toUpperCase() ?? null,
      isFamilyShare: bought.ownership_type === null ? null : bought.ownership_type === "FAMILY_SHARED",
      cancelReason: null,
      expirationReason: null,
      isRefund: false,
      identityChange: null,
      snapshot: {
        unsubscribedAt: bought.unsubscribe_detected_at,
        billingIssueDetectedAt: bought.billing_issues_detected_at,
        refundedAt: bought.refunded_at,
        endedAt: null, // the API has no such field: see "withEnd" in reconcile/customers.ts
      },
    },
  };
}

function entitlementsOf({ entitlements }: Customer, productId: string): string[] {
  return Object.entries(entitlements).flatMap(([id, { product_identifier }]) =>
    product_identifier === productId ? id : [],
  );
}
