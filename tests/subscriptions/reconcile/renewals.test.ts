import { beforeEach, expect, test } from "vitest";
import { reconcileNext } from "@/lib/subscriptions/reconcile/reconciler";
import { scheduleRenewals } from "@/lib/subscriptions/reconcile/schedule";
import { revenueCatSource } from "@/lib/subscriptions/sources/revenuecat";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import { DAY_MS, deliverOk } from "@/tests/support/subscriptions/billing";
import { openBillingMetrics } from "@/tests/support/subscriptions/metrics";
import { bought, iso, send, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";

const { revenueCat, billing, runDueJobs } = await setUpRevenueCat();

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

beforeEach(async () => {
  await ctx().db.purchase.updateMany({ data: { accountId: null } }); // what other tests have left
});

/** Schedules as the service does periodically, in a process that ends before it asks the provider. */
const schedule = () =>
  scheduleRenewals({ ...ctx(), billing: billing(), reconciler: { wake: () => {}, close: async () => {} } });

const scheduled = async () =>
  (await ctx().db.billingReconcileJob.findMany({ orderBy: { reference: "asc" } })).map(({ reference }) => reference);

/** Buys a subscription whose period ends after `ms`. */
async function subscribe(account: TestAccount, ms: number, fields: object = {}) {
  const { event, known } = bought(account, { expiration_at_ms: clock.now().getTime() + ms, ...fields });
  await deliverOk(event);
  return { event, known: { ...known, expires_date: iso(clock.now().getTime() + ms) } };
}

test("a renewal without an event is looked up at the provider, without a request for the status", async () => {
  const ann = await newAccount();
  const { known } = await subscribe(ann, HOUR_MS);
  const end = Date.parse(known.expires_date);
  clock.advance(HOUR_MS + 4 * MINUTE_MS);
  await schedule();
  expect(await scheduled()).toEqual([]); // its event may be on the way
  clock.advance(2 * MINUTE_MS);
  await schedule();
  const renewed = { purchase_date: iso(end), expires_date: iso(end + 30 * DAY_MS) };
  revenueCat.customers.set(ann.id, subscriber({ monthly: { ...known, ...renewed } }));
  await runDueJobs();
  expect(revenueCat.asked).toEqual([ann.id]);
  const [purchase] = await ctx().db.purchase.findMany({ where: { accountId: ann.id } });
  expect(purchase?.currentPeriodEndsAt).toEqual(new Date(end + 30 * DAY_MS));
  await schedule();
  expect(await scheduled()).toEqual([]);
});

test("a renewal that the provider does not know is looked up until the leeway is over, and then ends", async () => {
  const ann = await newAccount();
  const { known } = await subscribe(ann, HOUR_MS);
  revenueCat.customers.set(ann.id, subscriber({ monthly: known }));
  clock.advance(HOUR_MS + 6 * MINUTE_MS);
  for (let minutes = 0; minutes < 75; minutes += 15) {
    await schedule();
    await runDueJobs();
    clock.advance(15 * MINUTE_MS);
  }
  expect(revenueCat.asked).toHaveLength(5);
  expect(await ctx().db.purchase.findFirst({ where: { accountId: ann.id } })).toMatchObject({
    endedAt: new Date(known.expires_date),
  });
  expect(await scheduled()).toEqual([]);
});

test("a customer that the provider does not know is scheduled once a day, for 30 days", async () => {
  const ann = await newAccount();
  await subscribe(ann, HOUR_MS);
  revenueCat.respondWith((response) => send(response, 404, {}));
  clock.advance(HOUR_MS + 6 * MINUTE_MS);
  const days = [];
  for (let day = 0; day < 35; day += 1) {
    await schedule();
    await schedule();
    days.push((await scheduled()).length);
    await ctx().db.billingReconcileJob.deleteMany(); // given up
    clock.advance(DAY_MS + MINUTE_MS);
  }
  expect(days).toEqual(Array.from({ length: 35 }, (_, day) => (day < 30 ? 1 : 0)));
});

test("only a subscription of an account that should renew in production is scheduled, once for all purchases", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  await subscribe(ann, HOUR_MS);
  await subscribe(ann, HOUR_MS, { product_id: "other" });
  await subscribe(bob, HOUR_MS, { environment: "SANDBOX" });
  await subscribe(bob, HOUR_MS, { period_type: "PREPAID" });
  await subscribe(bob, HOUR_MS, { store: "PROMOTIONAL" });
  await subscribe(bob, 2 * HOUR_MS);
  const { event } = await subscribe(bob, HOUR_MS);
  const later = { id: `${event.id}-canceled`, type: "CANCELLATION", cancel_reason: "UNSUBSCRIBE" };
  await deliverOk({ ...event, ...later });
  clock.advance(HOUR_MS + 6 * MINUTE_MS);
  await scheduleRenewals(ctx()); // without an API key
  expect(await scheduled()).toEqual([]);
  await schedule();
  expect(await scheduled()).toEqual([ann.id]);
});

test("no more are scheduled than wait, in any number of processes", async () => {
  await ctx().db.$executeRaw`
    INSERT INTO "BillingReconcileJob" (provider, reference, "nextAttemptAt")
    SELECT 'revenuecat', 'waiting-' || i, ${clock.dbNow()} FROM generate_series(1, 98) AS i`;
  for (let i = 0; i < 4; i += 1) await subscribe(await newAccount(), HOUR_MS);
  clock.advance(HOUR_MS + 6 * MINUTE_MS);
  await schedule();
  expect(await scheduled()).toHaveLength(100);
  await Promise.all([schedule(), schedule()]);
  expect(await scheduled()).toHaveLength(100);
  await ctx().db.billingReconcileJob.deleteMany();
  await Promise.all([schedule(), schedule()]);
  expect(await scheduled()).toHaveLength(2);
});

test("the metrics have the renewals that are due and overdue, and the outcomes of reconciliations", async () => {
  const { metric, count } = await openBillingMetrics();
  const run = () => reconcileNext({ ...ctx(), billing: billing(), count }, revenueCatSource);
  const ann = await newAccount();
  const { known } = await subscribe(ann, HOUR_MS - MINUTE_MS);
  revenueCat.customers.set(ann.id, subscriber({ monthly: known }));
  expect([await metric("renewals_due"), await metric("renewals_overdue")]).toEqual([1, 0]);
  clock.advance(HOUR_MS + 10 * MINUTE_MS);
  await schedule();
  revenueCat.respondWith((response) => send(response, 500, {}));
  await run();
  revenueCat.respondWith();
  clock.advance(HOUR_MS);
  expect([await metric("renewals_due"), await metric("renewals_overdue")]).toEqual([0, 1]);
  await run();
  expect(await metric("renewals_overdue")).toBe(0);
  expect(await metric('reconciles_total{provider="revenuecat",outcome="failed"}')).toBe(1);
  expect(await metric('reconciles_total{provider="revenuecat",outcome="corrected"}')).toBe(1);
});
