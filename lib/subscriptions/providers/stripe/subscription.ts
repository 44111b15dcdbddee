import { createHash } from "node:crypto";
import type { EventFacts, ProviderEvent } from "../../events";
import { buildProviderEvent, snapshotOf } from "../build-event";
import { toDate } from "../fields";
import { entitlementsOf } from "../products";
import type { Products } from "../provider";
import { type StripeBase, type StripeEvent, type StripeObject, subscriptionState } from "./payload";

const END_REASONS = new Map([
  ["cancellation_requested", "UNSUBSCRIBE"],
  ["payment_failed", "BILLING_ERROR"],
  ["payment_disputed", "CUSTOMER_SUPPORT"],
]);

type Period = { start: Date | null; end: Date | null };

/**
 * Reads an event with a subscription, whatever its type: each has the whole subscription ("The Subscription object"). An
 * incomplete one has not been paid for yet, and is ignored.
 */
export function readSubscription(event: StripeEvent, base: StripeBase, products: Products): ProviderEvent {
  const subscription = event.data?.object;
  const customers = [subscription?.metadata?.accountId ?? null, subscription?.customer ?? null];
  const given = { ...base, purchaseId: subscription?.id ?? null, customers };
  const state = subscription ? stateOf(subscription, base.occurredAt) : null;
  if (!subscription || !state) return buildProviderEvent({ ...given, type: event.type ?? "UNKNOWN" });
  const facts = { ...soldFacts(subscription, products), ...state };
  const order = base.order && { ...base.order, ...statesOf(event, subscription) };
  return buildProviderEvent({ ...given, order, type: typeOf(event, subscription, state), facts });
}

/**
 * Digests of the subscription's state and of the one before it. `created` is in seconds: they say which of two changes of one
 * second came first.
 */
function statesOf({ type, data }: StripeEvent, subscription: StripeObject) {
  const digest = (state: object) => createHash("sha256").update(JSON.stringify(state)).digest("base64url").slice(0, 22);
  const state = subscriptionState(subscription);
  const previous = data?.previous_attributes;
  // Nothing precedes the creation, and the end says nothing of what it replaced.
  const none = type === "customer.subscription.created" ? "" : null;
  return { state: digest(state), replacedState: previous ? digest({ ...state, ...previous }) : none };
}

function soldFacts({ items }: StripeObject, products: Products): Partial<EventFacts> {
  const sold = (items?.data ?? []).map(({ price }) => ({
    ids: [price?.id ?? null, price?.product ?? null],
    metadataEntitlementIds: price?.metadata?.entitlements ?? null,
  }));
  const main = sold.find((one) => entitlementsOf(products, [one]).length > 0) ?? sold[0];
  return { productId: main?.ids[1] ?? main?.ids[0] ?? null, entitlementIds: entitlementsOf(products, sold) };
}

/** The state of a subscription ("How subscriptions work", Subscription statuses); null: it gives nothing yet. */
function stateOf(subscription: StripeObject, occurredAt: Date): Partial<EventFacts> | null {
  const period = periodOf(subscription);
  const startedAt = seconds(subscription.start_date);
  const snapshot = {
    startedAt,
    periodStartsAt: period.start,
    unsubscribedAt: unsubscribedAt(subscription, occurredAt),
  };
  const base = { periodType: "NORMAL", expiresAt: earlier(period.end, seconds(subscription.cancel_at)) };
  switch (subscription.status) {
    case "trialing":
      return { ...base, periodType: "TRIAL", snapshot: snapshotOf(snapshot) };
    case "active":
      return { ...base, snapshot: snapshotOf(snapshot) };
    case "past_due":
    case "unpaid": {
      // The period has begun without being paid: what was paid ended at its start. Stripe retries while it is past due.
      const grace = subscription.status === "past_due" ? period.end : null;
      const unpaid = snapshotOf({ ...snapshot, billingIssueDetectedAt: occurredAt });
      return { ...base, expiresAt: period.start, gracePeriodEndsAt: grace, snapshot: unpaid };
    }
    case "paused":
      return ended({ ...base, snapshot: snapshotOf(snapshot) }, occurredAt, "SUBSCRIPTION_PAUSED");
    case "canceled": {
      const reason = END_REASONS.get(subscription.cancellation_details?.reason ?? "") ?? "UNKNOWN";
      return ended({ ...base, snapshot: snapshotOf(snapshot) }, seconds(subscription.ended_at) ?? occurredAt, reason);
    }
    default:
      return null;
  }
}

type Ended = Partial<EventFacts> & { snapshot: NonNullable<EventFacts["snapshot"]> };

function ended({ snapshot, ...facts }: Ended, endedAt: Date, expirationReason: string): Partial<EventFacts> {
  return { ...facts, expiresAt: endedAt, expirationReason, snapshot: { ...snapshot, endedAt } };
}

/** The period of the item that is paid for longest: items may have different periods. */
function periodOf({ items, current_period_start, current_period_end }: StripeObject): Period {
  const all = (items?.data ?? []).toSorted((a, b) => (b.current_period_end ?? 0) - (a.current_period_end ?? 0));
  return {
    start: seconds(all[0]?.current_period_start ?? current_period_start),
    end: seconds(all[0]?.current_period_end ?? current_period_end),
  };
}

/** When the subscription was canceled, if it ends with its period. A later `cancel_at` leaves renewals before it. */
function unsubscribedAt(subscription: StripeObject, occurredAt: Date): Date | null {
  const { cancel_at, cancel_at_period_end, canceled_at } = subscription;
  const { end } = periodOf(subscription);
  const endsAt = seconds(cancel_at);
  const isCanceled = cancel_at_period_end === true || (endsAt !== null && end !== null && endsAt <= end);
  return isCanceled ? (seconds(canceled_at) ?? occurredAt) : null;
}

/** Names what changed, for operators and for the notification of a renewal. The state does not depend on it. */
function typeOf({ type, data }: StripeEvent, subscription: StripeObject, { snapshot }: Partial<EventFacts>): string {
  if (type === "customer.subscription.created") return "INITIAL_PURCHASE";
  if (snapshot?.endedAt) return "EXPIRATION";
  if (snapshot?.billingIssueDetectedAt) return "BILLING_ISSUE";
  const previous = data?.previous_attributes;
  if (!previous) return "SNAPSHOT";
  const before = periodOf({ ...subscription, items: null, current_period_end: null, ...previous });
  const { end } = periodOf(subscription);
  if (before.end && end && before.end < end) return "RENEWAL";
  if (previous.cancel_at === undefined && previous.cancel_at_period_end === undefined) return "SNAPSHOT";
  return snapshot?.unsubscribedAt ? "CANCELLATION" : "UNCANCELLATION";
}

const seconds = (value: number | null) => (value === null ? null : toDate(value * 1000));
const earlier = (a: Date | null, b: Date | null) => (a && b ? (a < b ? a : b) : (a ?? b));
