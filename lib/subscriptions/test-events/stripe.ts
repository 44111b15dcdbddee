import { signatureHeaders } from "../../platform/webhook-signatures";
import { eventTexts, type Sender } from "./sender";
import type { TestChange, TestProduct } from "./test-change";

type Period = TestChange["period"];

/** A sandbox of Stripe ("The Event object", API version 2025-03-31). Its product has the same id as its price. */
export const stripe: Sender = {
  store: "STRIPE",
  precisionMs: 1000,
  purchaseIdOf: (key) => `sub_${key}`,
  isProductId: (id) => /^(price|prod)_/.test(id),
  defaultProductIds: ["price_homeport_test_monthly", "price_homeport_test_yearly"],
  settings: "BILLING_STRIPE_WEBHOOK_SECRET",
  isConfigured: ({ BILLING_STRIPE_WEBHOOK_SECRET: secrets }) => secrets.length > 0,
  events: eventTexts(
    {
      INITIAL_PURCHASE: "customer.subscription.created",
      RENEWAL: "customer.subscription.updated",
      CANCELLATION: "customer.subscription.updated",
      UNCANCELLATION: "customer.subscription.updated",
      BILLING_ISSUE: "customer.subscription.updated",
      EXPIRATION: "customer.subscription.deleted",
      REFUND: "charge.refunded",
      PRODUCT_CHANGE: "customer.subscription.updated",
    },
    "states",
  ),
  headersOf: ({ BILLING_STRIPE_WEBHOOK_SECRET: [secret = ""] }, signed) => signatureHeaders("stripe", secret, signed),
  bodyOf: (change) => {
    const type = stripe.events[change.type].event;
    const previous = type === "customer.subscription.updated" ? { previous_attributes: previousOf(change) } : {};
    const object = change.type === "REFUND" ? chargeOf(change) : subscriptionOf(change);
    return {
      id: `evt_${change.id}`,
      object: "event",
      api_version: "2025-03-31.basil",
      created: seconds(change.occurredAt),
      livemode: false,
      type,
      data: { object, ...previous },
    };
  },
};

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);
const customerOf = ({ key }: TestChange) => `cus_${key}`;

function subscriptionOf(change: TestChange) {
  const { accountId, isPastDue, isCanceled, wasPastDue, key, now, period, product, startedAt, type } = change;
  const isEnded = type === "EXPIRATION";
  return {
    id: stripe.purchaseIdOf(key),
    object: "subscription",
    customer: customerOf(change),
    status: isEnded ? "canceled" : isPastDue ? "past_due" : "active",
    start_date: seconds(startedAt),
    ...cancellationOf(isCanceled, change, period),
    ended_at: isEnded ? seconds(now) : null,
    cancellation_details: { reason: isEnded ? (wasPastDue ? "payment_failed" : "cancellation_requested") : null },
    items: itemsOf(product, period),
    metadata: { accountId },
  };
}

/** What an update changed. */
function previousOf(change: TestChange) {
  const { previousPeriod, previousProduct, wasCanceled, wasPastDue } = change;
  return {
    status: wasPastDue ? "past_due" : "active",
    ...cancellationOf(wasCanceled, change, previousPeriod),
    items: itemsOf(previousProduct, previousPeriod),
  };
}

function cancellationOf(isCanceled: boolean, { now }: TestChange, { endsAt }: Period) {
  return {
    cancel_at_period_end: isCanceled,
    cancel_at: isCanceled ? seconds(endsAt) : null,
    canceled_at: isCanceled ? seconds(now) : null,
  };
}

function itemsOf({ id, entitlementIds }: TestProduct, { startsAt, endsAt }: Period) {
  const price = { id, object: "price", product: id, metadata: { entitlements: entitlementIds.join(",") } };
  const period = { current_period_start: seconds(startsAt), current_period_end: seconds(endsAt) };
  return { object: "list", data: [{ id: `si_${id}`, object: "subscription_item", ...period, price }] };
}

function chargeOf(change: TestChange) {
  const { key } = change;
  return {
    id: `ch_${key}`,
    object: "charge",
    customer: customerOf(change),
    payment_intent: `pi_${key}`,
    amount: 999,
    amount_refunded: 999,
    currency: "usd",
    refunded: true,
    metadata: {},
  };
}
