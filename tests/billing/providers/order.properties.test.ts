import fc from "fast-check";
import { expect, test } from "vitest";
import { type PurchaseEvent, PurchaseEventType } from "@/lib/subscriptions/events";
import { foldPurchase } from "@/lib/subscriptions/fold/fold-purchase";
import { appStore } from "@/lib/subscriptions/providers/app-store/app-store";
import { paddle } from "@/lib/subscriptions/providers/paddle/paddle";
import type { Provider } from "@/lib/subscriptions/providers/provider";
import { stripe } from "@/lib/subscriptions/providers/stripe/stripe";
import { ctx } from "@/tests/support/context";

const RUNS = { numRuns: 200, seed: Number(process.env.FAST_CHECK_SEED ?? 20_261_123) };
const START = Date.UTC(2026, 0, 1);
const HOUR_MS = 60 * 60 * 1000;
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

test.each<[string, Provider, (one: State, i: number) => unknown]>([
  ["Stripe", stripe, ofStripe],
  ["Paddle", paddle, ofPaddle],
  ["Apple", appStore, ofApple],
])("every order of arrival of %s's events, with all of them twice, folds to the same state", (_, provider, bodyOf) => {
  const eventOf = (one: State, i: number): PurchaseEvent[] => {
    const body = bodyOf(one, i);
    const { facts, type } = provider.read(provider.toPayload(body), LATER, new Map([["p", ["pro"]]]));
    const known = PurchaseEventType.safeParse(type).data;
    return known
      ? [
          {
            id: provider.eventId(body, {
              raw: new Uint8Array(),
              headers: new Headers(),
              network: "192.0.2.1",
              limits: ctx().limits,
              json: () => body,
            }),
            type: known,
            ...facts,
          },
        ]
      : [];
  };
  fc.assert(
    fc.property(arrivals, ([inOrder, shuffled]) => {
      const events = inOrder.flatMap(([one, i]) => eventOf(one, i));
      const others = shuffled.flatMap(([i, one]) => eventOf(one, i));
      expect(foldPurchase([...others, ...others])).toEqual(foldPurchase(events));
    }),
    RUNS,
  );
});
