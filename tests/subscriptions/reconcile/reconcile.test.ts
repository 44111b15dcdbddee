import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx, emptyTables } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { activatedDevice } from "@/tests/support/push/push";
import { billingEvent, DAY_MS, deliverOk, revokingRefund, statusOf } from "@/tests/support/subscriptions/billing";
import { prune, reconcile as reconcileWith } from "@/tests/support/subscriptions/operator-actions";
import { bought, iso, newCustomer, send, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";

const { revenueCat, billing } = await setUpRevenueCat();

/** Has the operator ask about an account; tells what came of it. */
const reconcile = async ({ id }: { id: string }) => (await reconcileWith(billing(), id)).customers;

test("a reconciliation without differences writes nothing", async () => {
  const { ann, known } = await newCustomer();
  revenueCat.customers.set(ann.id, subscriber({ monthly: known }));
  expect(await reconcile(ann)).toEqual([
    { provider: "revenuecat", appUserId: ann.id, known: 1, corrected: 0, failure: null },
  ]);
  expect(await ctx().db.billingEvent.count({ where: { type: "SNAPSHOT", appUserIds: { has: ann.id } } })).toBe(0);
});

test.each<[string, (now: number) => Record<string, unknown>, Record<string, unknown>]>([
  [
    "a renewal",
    (now) => ({ purchase_date: iso(now), expires_date: iso(now + 60 * DAY_MS), store_transaction_id: "next" }),
    { status: "active", isActive: true },
  ],
  ["a refund", (now) => ({ refunded_at: iso(now), expires_date: iso(now) }), { status: "revoked", isActive: false }],
  ["a cancellation", (now) => ({ unsubscribe_detected_at: iso(now) }), { status: "canceled", isActive: true }],
  ["a failed payment", (now) => ({ billing_issues_detected_at: iso(now) }), { status: "active", willRenew: false }],
  [
    "an end",
    (now) => ({ expires_date: iso(now - 1000), unsubscribe_detected_at: iso(now - 2000) }),
    { status: "expired", isActive: false },
  ],
  [
    "a pause",
    (now) => ({ expires_date: iso(now - 1000), auto_resume_date: iso(now + DAY_MS) }),
    { status: "paused", isActive: false },
  ],
])("%s whose event was lost is corrected, and a second reconciliation writes nothing", async (_, change, expected) => {
  const { ann, known } = await newCustomer();
  clock.advance(2000);
  const seen = { ...known, ...change(clock.now().getTime()) };
  if (seen.store_transaction_id === "next") seen.store_transaction_id = randomUUID();
  revenueCat.customers.set(ann.id, subscriber({ monthly: seen }));
  expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 1 }]);
  const answer = await statusOf(ann);
  expect(answer).toMatchObject(expected);
  expect(answer.subscriptions).toHaveLength(1);
  expect(await reconcile(ann)).toMatchObject([{ corrected: 0 }]);
});

test("a subscription whose renewal the provider does not know lasts until the leeway is over, and then ends", async () => {
  const { account: ann, device } = await activatedDevice();
  const notificationKinds = async () => {
    const deliveries = await deliveriesOf({ deviceId: device.id });
    return deliveries.map(({ kind }) => kind).filter((kind) => kind.startsWith("billing."));
  };
  const { event, known } = bought(ann);
  const expiresAt = clock.now().getTime() + 1000;
  await deliverOk({ ...event, expiration_at_ms: expiresAt });
  const expiresDate = iso(expiresAt);
  revenueCat.customers.set(ann.id, subscriber({ monthly: { ...known, expires_date: expiresDate } }));
  clock.advance(2000);
  expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 0 }]);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isActive: true, stale: true });
  expect(await notificationKinds()).toEqual([]);
  clock.advance(ctx().config.BILLING_STALE_LEEWAY_SECONDS * 1000);
  expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 1 }]);
  expect(await statusOf(ann)).toMatchObject({ status: "expired", isActive: false });
  expect(await notificationKinds()).toEqual(["billing.expired"]);
  expect(await reconcile(ann)).toMatchObject([{ corrected: 0 }]);
});

test("a known expiration is not undone by a response with the same period", async () => {
  const { ann, event, known } = await newCustomer();
  clock.advance(1000);
  const end = clock.now().getTime();
  const ended = { event_timestamp_ms: end, expiration_at_ms: end - 500, expiration_reason: "BILLING_ERROR" };
  await deliverOk({ ...event, id: randomUUID(), type: "EXPIRATION", ...ended });
  clock.advance(1000);
  // Its product has another name there, so that there is something to put right.
  revenueCat.customers.set(ann.id, subscriber({ yearly: { ...known, expires_date: iso(end - 500) } }));
  expect(await reconcile(ann)).toMatchObject([{ corrected: 1 }]);
  expect(await statusOf(ann)).toMatchObject({
    status: "billing_retry",
    productId: "yearly",
    expirationReason: "BILLING_ERROR",
  });
});

test("an expiration notifies the owner within a day, and not when it is found by a late reconciliation", async () => {
  const notificationKinds = async (agoMs: number) => {
    const { account: ann, device } = await activatedDevice();
    const { event, known } = bought(ann);
    await deliverOk(event);
    const now = clock.now().getTime();
    const expired = { expires_date: iso(now - agoMs), unsubscribe_detected_at: iso(now - agoMs) };
    revenueCat.customers.set(ann.id, subscriber({ monthly: { ...known, purchase_date: iso(now), ...expired } }));
    expect(await reconcile(ann)).toMatchObject([{ corrected: 1 }]);
    expect(await statusOf(ann)).toMatchObject({ status: "expired" });
    const deliveries = await deliveriesOf({ deviceId: device.id });
    return deliveries.map(({ kind }) => kind).filter((kind) => kind.startsWith("billing."));
  };
  expect(await notificationKinds(60_000)).toEqual(["billing.expired"]);
  expect(await notificationKinds(2 * DAY_MS)).toEqual([]);
});

test("the API's times, without fractions of a second, count as the events' own", async () => {
  const ann = await newAccount();
  const now = Math.floor(clock.now().getTime() / 1000) * 1000;
  const { event, known } = bought(ann, { purchased_at_ms: now - 500, expiration_at_ms: now + 30 * DAY_MS + 700 });
  await deliverOk(event);
  const cut = { ...known, purchase_date: iso(now - 1000), expires_date: iso(now + 30 * DAY_MS) };
  revenueCat.customers.set(ann.id, subscriber({ monthly: cut }));
  expect(await reconcile(ann)).toMatchObject([{ corrected: 0 }]);
  revenueCat.customers.set(ann.id, subscriber({ monthly: { ...cut, refunded_at: iso(now), expires_date: iso(now) } }));
  expect(await reconcile(ann)).toMatchObject([{ corrected: 1 }]);
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
});

test("a response from before the last renewal changes nothing", async () => {
  const { ann, known } = await newCustomer();
  const before = {
    purchase_date: iso(clock.now().getTime() - 31 * DAY_MS),
    expires_date: iso(clock.now().getTime() - 1),
  };
  revenueCat.customers.set(ann.id, subscriber({ monthly: { ...known, ...before } }));
  expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 0 }]);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isActive: true });
});

test("a response in flight when a refund arrives does not undo the refund", async () => {
  const { ann, event, known } = await newCustomer();
  const unsubscribed = { ...known, unsubscribe_detected_at: iso(clock.now().getTime()) };
  revenueCat.respondWith((response) => {
    clock.advance(1000);
    const now = clock.now().getTime();
    const refund = { ...event, id: randomUUID(), type: "CANCELLATION", ...revokingRefund() };
    const answer = () => send(response, 200, { subscriber: subscriber({ monthly: unsubscribed }) });
    void deliverOk({ ...refund, event_timestamp_ms: now })
      .then(() => clock.advance(1000))
      .finally(answer);
  });
  expect(await reconcile(ann)).toMatchObject([{ corrected: 1 }]);
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
});

test("a purchase without events is found, and later events belong to the same purchase", async () => {
  const ann = await newAccount();
  const [first, renewal] = [randomUUID(), randomUUID()];
  const { known } = bought(ann);
  revenueCat.customers.set(ann.id, subscriber({ monthly: { ...known, store_transaction_id: renewal } }));
  expect(await reconcile(ann)).toMatchObject([{ appUserId: ann.id, known: 1, corrected: 1 }]);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isActive: true, productId: "monthly" });
  clock.advance(1000);
  const refund = {
    app_user_id: ann.id,
    product_id: "monthly",
    original_transaction_id: first,
    transaction_id: renewal,
  };
  await deliverOk(billingEvent("CANCELLATION", { ...refund, ...revokingRefund() }));
  const answer = await statusOf(ann);
  expect(answer).toMatchObject({ status: "revoked", isActive: false });
  expect(answer.subscriptions).toHaveLength(1);
});

test("a lifetime purchase is found, and a purchase without an entitlement is left out", async () => {
  await emptyTables();
  const ann = await newAccount();
  const purchase = { id: "x", is_sandbox: false, purchase_date: "2026-01-01T09:00:00Z", store: "mac_app_store" };
  const seen = subscriber({}, { lifetime: [{ ...purchase, store_transaction_id: randomUUID() }] });
  const coins = { coins: [{ ...purchase, store_transaction_id: randomUUID() }] };
  revenueCat.customers.set(ann.id, { ...seen, non_subscriptions: { ...seen.non_subscriptions, ...coins } });
  expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 1 }]);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true, store: "MAC_APP_STORE" });
  clock.advance(1000);
  expect(await prune(0)).toBe(0); // it was never delivered: there is nothing to drop
});

test("requests use the App User ID exactly as the provider wrote it", async () => {
  const ann = await newAccount();
  await deliverOk(bought(ann, { app_user_id: ann.id.toUpperCase() }).event);
  await reconcile(ann);
  expect(revenueCat.asked).toEqual([ann.id.toUpperCase()]);
});

test("Google's base plans and renewal numbers are the ones of the webhook", async () => {
  const ann = await newAccount();
  const id = `GPA.${randomUUID()}`;
  const { event, known } = bought(ann, { store: "PLAY_STORE", product_id: "pro:month", original_transaction_id: id });
  await deliverOk(event);
  const seen = { ...known, product_plan_identifier: "month", store_transaction_id: `${id}..7` };
  revenueCat.customers.set(ann.id, subscriber({ pro: seen }));
  expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 0 }]);
});

test("all customers are asked about, several at once", async () => {
  await emptyTables();
  const ids: string[] = [];
  for (let i = 0; i < 4; i += 1) {
    const { ann, known } = await newCustomer();
    revenueCat.customers.set(ann.id, subscriber({ monthly: known }));
    ids.push(ann.id);
  }
  const waiting: (() => void)[] = [];
  revenueCat.respondWith((response, customer) => {
    waiting.push(() => send(response, 200, { subscriber: revenueCat.customers.get(customer) }));
    if (waiting.length === 2) for (const answer of waiting.splice(0)) answer();
  });
  const { customers } = await reconcileWith(billing());
  expect(customers).toMatchObject(ids.map((appUserId) => ({ appUserId, known: 1, failure: null })));
});
