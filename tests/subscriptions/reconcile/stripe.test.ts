import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { listProviderStates } from "@/lib/subscriptions/admin/reconcile";
import { reconcileNext } from "@/lib/subscriptions/reconcile/reconciler";
import { scheduleRenewals } from "@/lib/subscriptions/reconcile/schedule";
import { sweepProviders } from "@/lib/subscriptions/reconcile/sweep";
import { stripeSource } from "@/lib/subscriptions/sources/stripe";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { clock, ctx, emptyTables, withContext } from "@/tests/support/context";
import { DAY_MS, statusOf } from "@/tests/support/subscriptions/billing";
import { sendStripe } from "@/tests/support/subscriptions/deliver-with";
import { onRow, repair } from "@/tests/support/subscriptions/faults";
import { openBillingMetrics } from "@/tests/support/subscriptions/metrics";
import { reconcile } from "@/tests/support/subscriptions/operator-actions";
import type { Json } from "@/tests/support/subscriptions/providers";
import { send } from "@/tests/support/subscriptions/revenuecat";
import { entitlement, startStripe } from "@/tests/support/subscriptions/stripe-api";

const stripe = await startStripe();
afterAll(() => stripe.close());

const HOUR_MS = 60 * 60_000;
const seconds = (ms = 0) => Math.floor((clock.now().getTime() + ms) / 1000);

beforeEach(async () => {
  await emptyTables();
  for (const all of [stripe.subscriptions, stripe.charges, stripe.entitlements]) all.clear();
  stripe.events.length = 0;
  stripe.requests.length = 0;
  stripe.respondWith();
});

const withStripe = <T>(run: () => Promise<T>) =>
  withContext(
    { config: stripe.config, billing: stripe.apis(), reconciler: { wake: () => {}, close: async () => {} } },
    run,
  );
const sweep = (count = ctx().count) => withStripe(() => sweepProviders({ ...ctx(), count }));
const stateShown = () => withStripe(async () => (await listProviderStates(ctx()))[0]);
const sweepState = () => ctx().db.billingSweep.findUniqueOrThrow({ where: { provider: "stripe" } });
const listed = () => stripe.requests.filter(({ pathname }) => pathname === "/v1/events");

/** Subscribes an account; the event is delivered. */
async function subscribed(fields: Json = {}) {
  const ann = await newAccount();
  const { event, subscription } = stripe.subscribe(ann.id, fields);
  await sendStripe(event);
  return { ann, id: String(subscription.id) };
}

/** The items of a subscription whose period has these ends. */
const items = (start: number, end: number, price = "price_pro", product = "prod_pro") => ({
  object: "list",
  data: [
    { id: "si_1", current_period_start: start, current_period_end: end, price: { id: price, product, metadata: {} } },
  ],
});

test("what a day without webhooks has changed is found by the next sweep, and late webhooks change nothing", async () => {
  const renewed = await subscribed({ items: items(seconds(-29 * DAY_MS), seconds(HOUR_MS)) });
  const [canceled, upgraded, expired, unpaid] = [
    await subscribed(),
    await subscribed(),
    await subscribed(),
    await subscribed(),
  ];
  const oneTime = await newAccount();
  const payment = `pi_${randomUUID()}`;
  const session = {
    id: "cs_1",
    object: "checkout.session",
    mode: "payment",
    payment_status: "paid",
    payment_intent: payment,
  };
  const paid = {
    ...session,
    client_reference_id: oneTime.id,
    customer: "cus_once",
    metadata: { productId: "prod_pro" },
  };
  await sendStripe(stripe.record("checkout.session.completed", paid));
  await sweep();
  expect(await sweepState()).toMatchObject({ lastFound: 0, failure: null });
  clock.advance(HOUR_MS);
  const lost = [
    stripe.change(renewed.id, { items: items(seconds(), seconds(30 * DAY_MS)) }),
    stripe.change(canceled.id, { cancel_at_period_end: true, canceled_at: seconds() }),
    stripe.change(upgraded.id, { items: items(seconds(), seconds(365 * DAY_MS)) }),
  ];
  clock.advance(10 * HOUR_MS);
  const ended = { status: "canceled", ended_at: seconds(), canceled_at: seconds() };
  lost.push(
    stripe.change(expired.id, ended, "customer.subscription.deleted"),
    stripe.change(unpaid.id, { status: "past_due", items: items(seconds(), seconds(30 * DAY_MS)) }),
    stripe.record("charge.refunded", {
      id: "ch_1",
      refunded: true,
      payment_intent: payment,
      customer: "cus_once",
      invoice: null,
    }),
  );
  const people = [renewed.ann, canceled.ann, upgraded.ann, expired.ann, unpaid.ann, oneTime];
  const statuses = () => Promise.all(people.map(async (one) => (await statusOf(one)).status));
  clock.advance(13 * HOUR_MS);
  const { metric, count } = await openBillingMetrics();
  await sweep(count);
  const expected = ["active", "canceled", "active", "expired", "grace_period", "revoked"];
  expect(await statuses()).toEqual(expected);
  expect(await sweepState()).toMatchObject({ lastFound: lost.length, position: null });
  expect(await metric('events_recovered_total{provider="stripe"}')).toBe(lost.length);
  expect(await metric("sweep_oldest_age_seconds")).toBeLessThan(60);
  clock.advance(HOUR_MS);
  expect(await metric("sweep_oldest_age_seconds")).toBeGreaterThanOrEqual(3600);
  const states = await ctx().db.purchase.findMany({ orderBy: { id: "asc" }, omit: { updatedAt: true } });
  for (const event of lost.toReversed()) expect(await sendStripe(event)).toMatchObject([200, { status: "duplicate" }]);
  expect(await ctx().db.purchase.findMany({ orderBy: { id: "asc" }, omit: { updatedAt: true } })).toEqual(states);
});

test("a sweep continues after the page that it has read, by one process at a time, and keeps the provider's pause", async () => {
  for (let i = 0; i < 250; i += 1) stripe.subscribe(null);
  stripe.respondWith((response) => {
    if (listed().length !== 2) return false;
    send(response, 500, {});
    return true;
  });
  await sweep();
  expect(await sweepState()).toMatchObject({
    found: 0,
    attempts: 1,
    failure: "the billing provider returned status 500",
  });
  expect(await ctx().db.purchase.count()).toBe(100);
  await sweep(); // not due yet
  expect(listed()).toHaveLength(2);
  clock.advance(61_000);
  stripe.respondWith((response) => {
    if (listed().length !== 3) return false;
    send(response, 429, {}, { "retry-after": "30" });
    return true;
  });
  await sweep();
  clock.advance(29_000);
  await sweep();
  expect(await stateShown()).toMatchObject({
    name: "Stripe",
    pausedUntil: expect.any(Date),
    sweep: { finishedAt: null },
  });
  expect(listed()).toHaveLength(3);
  clock.advance(2_000);
  await withStripe(() => Promise.all([sweepProviders(ctx()), sweepProviders(ctx())])); // contexts must not overlap
  const [, second, third, fourth, ...rest] = listed().map(({ searchParams }) => searchParams.get("starting_after"));
  expect([third, fourth, rest.length]).toEqual([second, second, 1]);
  expect(await ctx().db.purchase.count()).toBe(250);
  expect(await sweepState()).toMatchObject({ position: null, failure: null });
  expect(await stateShown()).toMatchObject({
    pausedUntil: null,
    sweep: { finishedAt: expect.any(Date), failure: null },
  });
});

test("a sweep that is interrupted after it stored an event links the customer's other purchases at its next attempt", async () => {
  const ann = await newAccount();
  const customer = `cus_${randomUUID()}`;
  const { event, subscription } = stripe.subscribe(null, { customer });
  await sendStripe(event);
  stripe.subscribe(ann.id, { customer });
  const isOther = `NEW."originalTransactionId" = '${subscription.id}'`;
  const ends = `RAISE EXCEPTION 'terminating connection' USING ERRCODE = '57P01';`;
  await onRow("UPDATE", `IF ${isOther} THEN ${ends} END IF;`, "Purchase");
  onTestFinished(repair);
  await sweep();
  expect(await statusOf(ann)).toMatchObject({ isActive: true });
  expect(await sweepState()).toMatchObject({ finishedAt: null, attempts: 1 });
  await repair();
  clock.advance(61_000);
  await sweep();
  expect(await sweepState()).toMatchObject({ finishedAt: expect.any(Date) });
  expect((await statusOf(ann)).subscriptions).toHaveLength(2);
});

test("a position that the provider does not know any more begins the sweep again", async () => {
  for (let i = 0; i < 150; i += 1) stripe.subscribe(null);
  stripe.respondWith((response, url) => {
    if (!url.searchParams.has("starting_after")) return false;
    send(response, 400, { error: { code: "resource_missing" } });
    return true;
  });
  for (let i = 0; i < 3; i += 1) {
    await sweep();
    clock.advance(HOUR_MS);
  }
  stripe.respondWith();
  await sweep();
  expect(await ctx().db.purchase.count()).toBe(150);
});

test("an overdue renewal is looked up at Stripe, and the subscription is stored as it is", async () => {
  const { ann, id } = await subscribed({ items: items(seconds(-29 * DAY_MS), seconds(HOUR_MS)) });
  const end = seconds(31 * DAY_MS);
  stripe.subscriptions.set(id, { ...stripe.subscriptions.get(id), items: items(seconds(HOUR_MS), end) });
  clock.advance(HOUR_MS + 6 * 60_000);
  await withStripe(async () => {
    await scheduleRenewals(ctx());
    while (await reconcileNext(ctx(), stripeSource));
  });
  expect(await statusOf(ann)).toMatchObject({
    status: "active",
    subscriptions: [{ currentPeriodEndsAt: new Date(end * 1000).toISOString() }],
  });
  expect(await ctx().db.billingEvent.count({ where: { type: "SNAPSHOT", provider: "stripe" } })).toBe(1);
  expect(await ctx().db.billingReconcileJob.count()).toBe(0);
});

test("an operator reconciles an account; a repetition changes nothing, and an older webhook that arrives late neither", async () => {
  const { ann, id } = await subscribed();
  const canceled = stripe.change(id, { cancel_at_period_end: true, canceled_at: seconds() });
  clock.advance(60_000);
  stripe.change(id, { cancel_at_period_end: false, canceled_at: null });
  const later = stripe.change(id, { status: "past_due", items: items(seconds(-60_000), seconds(7 * DAY_MS)) });
  clock.advance(60_000);
  const run = () => withStripe(() => reconcile(ctx().billing, ann.id));
  expect(await run()).toMatchObject({
    customers: [{ provider: "stripe", appUserId: id, known: 1, corrected: 1, failure: null }],
  });
  const state = await statusOf(ann);
  expect(state).toMatchObject({ status: "grace_period" });
  clock.advance(DAY_MS);
  expect(await run()).toMatchObject({ customers: [{ known: 1, corrected: 0 }] });
  for (const event of [later, canceled]) await sendStripe(event);
  const { subscriptions } = await statusOf(ann);
  const since = { billingIssueDetectedAt: new Date(Number(later.created) * 1000).toISOString() }; // the webhook says when
  expect(subscriptions).toEqual([{ ...state.subscriptions[0], ...since }]);
  stripe.subscriptions.delete(id);
  expect(await run()).toMatchObject({ customers: [{ known: 0, corrected: 0, failure: null }] });
});

test("a lost summary of more than ten entitlements is found with all of them", async () => {
  const { ann, id } = await subscribed({ items: items(seconds(), seconds(30 * DAY_MS), "price_own", "prod_own") });
  await sweep();
  const customer = String(stripe.subscriptions.get(id)?.customer);
  const keys = Array.from({ length: 12 }, (_, i) => `key_${String(i).padStart(2, "0")}`);
  stripe.entitlements.set(customer, keys);
  const entitlements = { object: "list", data: keys.slice(0, 10).map(entitlement), has_more: true };
  stripe.record("entitlements.active_entitlement_summary.updated", { customer, livemode: true, entitlements });
  clock.advance(11 * 60_000);
  await sweep();
  expect((await statusOf(ann)).entitlements).toMatchObject(keys.map((key) => ({ id: key, isActive: true })));
});

test("a purchase that was just made is shown with fresh=1, before its webhook arrives", async () => {
  await sweep();
  const ann = await newAccount();
  clock.advance(2_000);
  const { event } = stripe.subscribe(ann.id);
  const config = { ...stripe.config, BILLING_FRESH_TIMEOUT_MS: 5_000 };
  const read = () => get("/api/subscription/status?fresh=1", { token: ann.token });
  const response = await withStripe(() => withContext({ config }, read));
  expect(await response.json()).toMatchObject({ status: "active", isFresh: true });
  expect(await sendStripe(event)).toMatchObject([200, { status: "duplicate" }]);
  stripe.respondWith((failed) => {
    send(failed, 500, {});
    return true;
  });
  clock.advance(61_000);
  expect(await (await withStripe(() => withContext({ config }, read))).json()).toMatchObject({ isFresh: false });
});

test("all who ask for a fresh status at once get one, also while another process reads the events", async () => {
  await sweep();
  clock.advance(11 * 60_000);
  const people = await Promise.all([newAccount(), newAccount(), newAccount()]);
  let other: ServerResponse | undefined;
  stripe.respondWith((response) => {
    other = response;
    return true;
  });
  const others = await withStripe(async () => ctx()); // contexts must not overlap
  const otherSweep = sweepProviders(others);
  await expect.poll(() => other).toBeDefined();
  stripe.respondWith();
  for (const { id } of people) stripe.subscribe(id);
  let asked = 0;
  const { limits } = ctx();
  const consume: typeof limits.consume = (name, key) => {
    if (name === "freshStatusByAccount") asked += 1;
    return limits.consume(name, key);
  };
  const config = { ...stripe.config, BILLING_FRESH_TIMEOUT_MS: 10_000 };
  const read = ({ token }: TestAccount) => get("/api/subscription/status?fresh=1", { token });
  const reading = withStripe(() =>
    withContext({ config, limits: { ...limits, consume } }, () => Promise.all(people.map(read))),
  );
  await expect.poll(() => asked).toBe(people.length);
  if (other) send(other, 200, { data: [], has_more: false });
  await otherSweep;
  const before = listed().length;
  const statuses = await Promise.all((await reading).map((response) => response.json()));
  expect(statuses).toEqual(people.map(() => expect.objectContaining({ status: "active", isFresh: true })));
  expect(listed().length - before).toBeLessThan(people.length);
});
