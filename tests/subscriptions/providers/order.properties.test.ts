import fc from "fast-check";
import { expect, test } from "vitest";
import { type PurchaseEvent, PurchaseEventType } from "@/lib/subscriptions/events";
import { foldPurchase } from "@/lib/subscriptions/fold/fold-purchase";
import { appStore } from "@/lib/subscriptions/providers/app-store";
import { paddle } from "@/lib/subscriptions/providers/paddle";
import type { Provider } from "@/lib/subscriptions/providers/provider";
import { stripe } from "@/lib/subscriptions/providers/stripe";

const RUNS = { numRuns: 100, seed: Number(process.env.FAST_CHECK_SEED ?? 20_261_123) };
const START = Date.UTC(2026, 0, 1);
const HOUR_MS = 60 * 60 * 1000;
/** An event's id depends on no limit. */
const NO_LIMITS = { consume: async () => {}, refund: async () => {}, pseudonymOf: async (text: string) => text };
const LATER = new Date(Date.UTC(2040, 0, 1));

/** Moments in hours. Few, so that many events share one. */
const hours = fc.integer({ min: 0, max: 60 });
const state = fc.record({ at: hours, start: hours, end: hours, status: fc.nat(), flag: fc.boolean() });
type State = { at: number; start: number; end: number; status: number; flag: boolean };
const ms = (hour: number) => START + hour * HOUR_MS;
const pick = <T>(all: readonly T[], n: number) => all[n % all.length] as T;

function ofStripe({ at, start, end, status, flag }: State, i: number) {
  const all = ["trialing", "active", "past_due", "unpaid", "paused", "canceled", "incomplete"];
  const period = { current_period_start: ms(start) / 1000, current_period_end: ms(end) / 1000 };
  const object = { id: "sub_1", status: pick(all, status), cancel_at_period_end: flag, items: { data: [period] } };
  return { id: `evt_${i}`, type: "customer.subscription.updated", created: ms(at) / 1000, data: { object } };
}

function ofPaddle({ at, start, end, status, flag }: State, i: number) {
  const iso = (hour: number) => new Date(ms(hour)).toISOString();
  const data = {
    id: "sub_1",
    status: pick(["trialing", "active", "past_due", "paused", "canceled"], status),
    current_billing_period: flag ? { starts_at: iso(start), ends_at: iso(end) } : null,
  };
  return { event_id: `evt_${i}`, event_type: "subscription.updated", occurred_at: iso(at), data };
}

function ofApple({ at, start, end, status, flag }: State, i: number) {
  const types = ["SUBSCRIBED", "DID_RENEW", "EXPIRED", "REFUND", "REFUND_REVERSED", "DID_FAIL_TO_RENEW"];
  const data = { status: pick([1, 2, 3, 4, 5], status), environment: "Production" };
  const notification = { notificationUUID: `n-${i}`, notificationType: pick(types, status), signedDate: ms(at), data };
  const transaction = { originalTransactionId: "1", type: "Auto-Renewable Subscription", productId: "p" };
  const dates = { purchaseDate: ms(start), expiresDate: ms(end) };
  const renewalInfo = { autoRenewStatus: flag ? 1 : 0, renewalDate: ms(flag ? end : 60) };
  return { notification, transaction: { ...transaction, ...dates }, renewalInfo };
}

const arrivals = fc
  .array(state, { minLength: 1, maxLength: 10 })
  .chain((states) =>
    fc.tuple(
      fc.constant(states.map((one, i) => [one, i] as const)),
      fc.shuffledSubarray([...states.entries()], { minLength: states.length, maxLength: states.length }),
    ),
  );

function purchaseEvents(provider: Provider, body: unknown): PurchaseEvent[] {
  const { facts, type } = provider.read(provider.toPayload(body), LATER, new Map([["p", ["pro"]]]));
  const known = PurchaseEventType.safeParse(type).data;
  const delivery = { raw: new Uint8Array(), headers: new Headers(), network: "192.0.2.1", json: () => body };
  return known ? [{ id: provider.eventId(body, { ...delivery, limits: NO_LIMITS }), type: known, ...facts }] : [];
}

test.each<[string, Provider, (one: State, i: number) => unknown]>([
  ["Stripe", stripe, ofStripe],
  ["Paddle", paddle, ofPaddle],
  ["Apple", appStore, ofApple],
])("every order of arrival of %s's events, with all of them twice, folds to the same state", (_, provider, bodyOf) => {
  const eventOf = (one: State, i: number) => purchaseEvents(provider, bodyOf(one, i));
  fc.assert(
    fc.property(arrivals, ([inOrder, shuffled]) => {
      const events = inOrder.flatMap(([one, i]) => eventOf(one, i));
      const others = shuffled.flatMap(([i, one]) => eventOf(one, i));
      expect(foldPurchase([...others, ...others])).toEqual(foldPurchase(events));
    }),
    RUNS,
  );
});

const adjustment = fc.record({
  at: fc.integer({ min: 1, max: 9 }),
  id: fc.integer({ min: 0, max: 5 }),
  amount: fc.integer({ min: 0, max: 600 }),
  action: fc.constantFrom("refund", "chargeback", "chargeback_reverse"),
  isFull: fc.boolean(),
});
type Adjustment = typeof adjustment extends fc.Arbitrary<infer T> ? T : never;

/** One adjustment as Paddle sends it. Of one id, all events are the same but for their time. */
function ofAdjustment({ at, id, amount, action, isFull }: Adjustment, i: number) {
  const whole = { id: `adj_${id}`, action, type: isFull ? "full" : "partial", totals: { total: String(amount) } };
  const data = { ...whole, status: "approved", transaction_id: "txn_1" };
  return { event_id: `evt_${i}`, event_type: "adjustment.updated", occurred_at: new Date(ms(at)).toISOString(), data };
}

test("every order of a payment and its refunds folds to the same state, refunded only if they add up", () => {
  const items = [{ price: { id: "p", product_id: "p" } }];
  const data = { id: "txn_1", billed_at: new Date(ms(0)).toISOString(), items };
  const completed = {
    event_id: "evt_paid",
    event_type: "transaction.completed",
    occurred_at: new Date(ms(0)).toISOString(),
  };
  const bought = { ...completed, data: { ...data, details: { totals: { grand_total: "1000" } } } };
  fc.assert(
    fc.property(fc.array(adjustment, { maxLength: 8 }), fc.infiniteStream(fc.nat()), (adjustments, order) => {
      const events = [bought, ...adjustments.map(ofAdjustment)].flatMap((body) => purchaseEvents(paddle, body));
      const shuffled = events.map((event) => [order.next().value, event] as const).toSorted(([a], [b]) => a - b);
      const state = foldPurchase(events);
      expect(foldPurchase([...shuffled, ...shuffled].map(([, event]) => event))).toEqual(state);
      const counted = adjustments.filter(({ id }, i) => adjustments.findIndex((other) => other.id === id) === i);
      const isUnique = counted.length === adjustments.length;
      const hasReversal = adjustments.some(({ action }) => action === "chargeback_reverse");
      if (!isUnique || hasReversal) return;
      const refunded = adjustments.reduce((sum, { amount, isFull }) => sum + (isFull ? 1000 : amount), 0);
      expect(state).toMatchObject({ isLifetime: true, entitlementIds: ["pro"] });
      expect([state.refundedAt !== null, state.endedAt !== null]).toEqual([refunded >= 1000, refunded >= 1000]);
    }),
    RUNS,
  );
});
