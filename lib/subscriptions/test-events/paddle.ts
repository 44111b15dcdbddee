import { signatureHeaders } from "../../platform/webhook-signatures";
import { eventTexts, type Sender } from "./sender";
import type { TestChange, TestProduct } from "./test-change";

/** A destination in Paddle's sandbox ("Webhooks reference"). Its product has the same id as its price. */
export const paddle: Sender = {
  store: "PADDLE",
  precisionMs: 1,
  purchaseIdOf: (key) => `sub_${key}`,
  isProductId: (id) => /^(pri|pro)_/.test(id),
  defaultProductIds: ["pri_homeport_test_monthly", "pri_homeport_test_yearly"],
  settings: "BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET",
  isConfigured: ({ BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET: secrets }) => secrets.length > 0,
  events: eventTexts(
    {
      INITIAL_PURCHASE: "subscription.created",
      RENEWAL: "subscription.updated",
      CANCELLATION: "subscription.updated",
      UNCANCELLATION: "subscription.updated",
      BILLING_ISSUE: "subscription.past_due",
      EXPIRATION: "subscription.canceled",
      REFUND: "adjustment.created",
      PRODUCT_CHANGE: "subscription.updated",
    },
    "states",
  ),
  headersOf: ({ BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET: [secret = ""] }, signed) =>
    signatureHeaders("paddle", secret, signed),
  bodyOf: (change) => ({
    event_id: `evt_${change.id}`,
    event_type: paddle.events[change.type].event,
    occurred_at: change.occurredAt,
    notification_id: `ntf_${change.id}`,
    data: change.type === "REFUND" ? adjustmentOf(change) : subscriptionOf(change),
  }),
};

const customerOf = ({ key }: TestChange) => `ctm_${key}`;

function subscriptionOf(change: TestChange) {
  const { accountId, isCanceled, isPastDue, key, now, period, product, startedAt, type } = change;
  const isEnded = type === "EXPIRATION";
  return {
    id: paddle.purchaseIdOf(key),
    status: isEnded ? "canceled" : isPastDue ? "past_due" : "active",
    customer_id: customerOf(change),
    custom_data: { accountId },
    currency_code: "USD",
    started_at: startedAt,
    paused_at: null,
    canceled_at: isEnded ? now : null,
    current_billing_period: isEnded ? null : { starts_at: period.startsAt, ends_at: period.endsAt },
    scheduled_change:
      isCanceled && !isEnded ? { action: "cancel", effective_at: period.endsAt, resume_at: null } : null,
    items: [itemOf(product)],
  };
}

function itemOf({ id, entitlementIds }: TestProduct) {
  const custom_data = { entitlements: entitlementIds.join(",") };
  return {
    status: "active",
    quantity: 1,
    price: { id, product_id: id, billing_cycle: { interval: "month", frequency: 1 }, custom_data },
  };
}

function adjustmentOf(change: TestChange) {
  const { key } = change;
  return {
    id: `adj_${change.id}`,
    action: "refund",
    type: "full",
    status: "approved",
    transaction_id: `txn_${key}`,
    subscription_id: paddle.purchaseIdOf(key),
    customer_id: customerOf(change),
    currency_code: "USD",
    totals: { total: "999" },
  };
}
