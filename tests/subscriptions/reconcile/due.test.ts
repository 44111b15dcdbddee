import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { anonymizeBilling } from "@/lib/subscriptions/anonymize-billing";
import { removeReconcileJobs } from "@/lib/subscriptions/reconcile/schedule";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { DAY_MS, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";
import { openBillingMetrics } from "@/tests/support/subscriptions/metrics";
import { bought, iso, send, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";

const { revenueCat, billing, withKey, runDueJobs } = await setUpRevenueCat();

/** Who is due to be asked about, and after how many attempts. */
const due = () =>
  ctx().db.billingReconcileJob.findMany({ orderBy: { reference: "asc" }, omit: { nextAttemptAt: true } });
/** A refund of something that an account has bought: a reason to ask. */
async function refunded(account: TestAccount): Promise<void> {
  const { event } = bought(account);
  await deliverOk(event);
  await deliverOk({ ...event, id: randomUUID(), type: "CANCELLATION", cancel_reason: "CUSTOMER_SUPPORT" });
}
/** Delivers what gives reason to ask, by a process that ends before it has asked. */
const thenKilled = (run: () => Promise<void>) =>
  withContext({ billing: billing(), reconciler: { ...ctx().reconciler, wake: () => {} } }, run);

test("reconcile jobs left by a process that was killed run after the next start", async () => {
  const ann = await newAccount();
  await thenKilled(() => refunded(ann));
  expect([revenueCat.asked, await due()]).toEqual([[], [{ provider: "revenuecat", reference: ann.id, attempts: 0 }]]);
  await runDueJobs();
  expect([revenueCat.asked, await due()]).toEqual([[ann.id], []]);
});

test("the metrics contain the number of due reconcile jobs and the age of the oldest", async () => {
  const { metric } = await openBillingMetrics();
  expect([await metric("reconciles_due"), await metric("reconciles_due_oldest_age_seconds")]).toEqual([0, 0]);
  const ann = await newAccount();
  await thenKilled(() => refunded(ann));
  clock.advance(3_600_000);
  expect(await metric("reconciles_due")).toBe(1);
  expect(await metric("reconciles_due_oldest_age_seconds")).toBeGreaterThanOrEqual(3600);
});

test("the customers of a burst are reconciled one at a time, once each, by one process each", async () => {
  const people = await Promise.all(Array.from({ length: 4 }, () => newAccount()));
  await thenKilled(async () => {
    for (const person of people) {
      await refunded(person);
      await refunded(person);
    }
  });
  let [open, most] = [0, 0];
  revenueCat.respondWith((response) => {
    open += 1;
    most = Math.max(most, open);
    response.on("finish", () => {
      open -= 1;
    });
    setImmediate(() => send(response, 200, { subscriber: subscriber({}) }));
  });
  await Promise.all([runDueJobs(), runDueJobs()]);
  expect(revenueCat.asked.toSorted()).toEqual(people.map(({ id }) => id).toSorted());
  expect(most).toBeLessThanOrEqual(2);
});

test("after a 429 every process pauses for the time in Retry-After, and no job is lost", async () => {
  const people = [await newAccount(), await newAccount()];
  await thenKilled(async () => {
    for (const person of people) await refunded(person);
  });
  revenueCat.respondWith((response) => send(response, 429, {}, { "retry-after": "3600" }));
  await runDueJobs();
  await runDueJobs();
  expect(revenueCat.asked).toHaveLength(1);
  clock.advance(3_590_000);
  await runDueJobs();
  expect(revenueCat.asked).toHaveLength(1);
  revenueCat.respondWith();
  clock.advance(20_000);
  await runDueJobs();
  expect(revenueCat.asked.slice(1).toSorted()).toEqual(people.map(({ id }) => id).toSorted());
  expect(await due()).toEqual([]);
});

test("of two processes that are told to wait, the longer pause holds", async () => {
  for (const person of [await newAccount(), await newAccount()]) await thenKilled(() => refunded(person));
  const open: ServerResponse[] = [];
  revenueCat.respondWith((response) => open.push(response));
  const runs = [runDueJobs(), runDueJobs()];
  await expect.poll(() => open).toHaveLength(2);
  send(open[0] as ServerResponse, 429, {}, { "retry-after": "3600" });
  await Promise.race(runs);
  send(open[1] as ServerResponse, 429, {}, { "retry-after": "60" });
  await Promise.all(runs);
  clock.advance(3_590_000);
  await runDueJobs();
  expect(revenueCat.asked).toHaveLength(2);
  clock.advance(20_000);
  revenueCat.respondWith();
  await runDueJobs();
  expect(await due()).toEqual([]);
});

test("a customer whose reconciliation fails is retried with growing delays, and given up after days", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  await thenKilled(() => refunded(ann));
  revenueCat.respondWith((response, customer) =>
    customer === ann.id ? send(response, 500, {}) : send(response, 200, { subscriber: subscriber({}) }),
  );
  await runDueJobs();
  await thenKilled(() => refunded(bob));
  await runDueJobs();
  expect(revenueCat.asked).toEqual([ann.id, bob.id]);
  for (let hours = 0; hours < 100; hours += 1) {
    clock.advance(3_600_000);
    await runDueJobs();
  }
  expect(revenueCat.asked.filter((name) => name === ann.id)).toHaveLength(20);
  expect(await due()).toEqual([]);
});

test("a renewal that the provider does not know yet is reconciled again without a status request", async () => {
  const ann = await newAccount();
  const { event, known } = bought(ann);
  const expiry = clock.now().getTime() + 1000;
  await deliverOk({ ...event, expiration_at_ms: expiry });
  revenueCat.customers.set(ann.id, subscriber({ monthly: { ...known, expires_date: iso(expiry) } }));
  clock.advance(2000);
  await withKey(async () => {
    expect(await statusOf(ann)).toMatchObject({ status: "active", stale: true });
    await expect.poll(() => revenueCat.asked).toEqual([ann.id]);
  });
  expect(await due()).toEqual([{ provider: "revenuecat", reference: ann.id, attempts: 0 }]);
  const now = clock.now().getTime();
  const renewed = { purchase_date: iso(expiry), expires_date: iso(now + 30 * DAY_MS) };
  revenueCat.customers.set(ann.id, subscriber({ monthly: { ...known, ...renewed } }));
  clock.advance(15 * 60_000);
  await runDueJobs();
  expect(await statusOf(ann)).toMatchObject({ status: "active", stale: false });
  expect(await due()).toEqual([]);
});

test("an account without purchases is reconciled once after each sign-in", async () => {
  const ann = await newAccount();
  const { known } = bought(ann);
  await withKey(async () => {
    expect(await statusOf(ann)).toMatchObject({ status: "none" });
    await expect.poll(() => revenueCat.asked).toEqual([ann.id]);
    await statusOf(ann);
    revenueCat.customers.set(ann.id, subscriber({ monthly: known }));
    await statusOf((await (await post("/api/auth/login", ann)).json()) as { token: string });
    await expect.poll(async () => (await statusOf(ann)).status).toBe("active");
    expect(revenueCat.asked).toEqual([ann.id, ann.id]);
  });
  expect(await due()).toEqual([]);
});

test("without an API key no job is kept, and a deleted account has none", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  await refunded(ann);
  await statusOf(bob);
  expect(await due()).toEqual([]);
  await thenKilled(() => refunded(bob));
  const response = await post(
    "/api/auth/account/delete",
    { confirm: "DELETE", password: bob.password },
    { token: bob.token },
  );
  expect(response.status).toBe(200);
  expect(await due()).toEqual([]);
});

test("reconcile jobs are deleted once the API key is removed", async () => {
  await thenKilled(async () => refunded(await newAccount()));
  expect(await removeReconcileJobs({ ...ctx(), billing: billing() })).toBe(0);
  expect(await due()).toHaveLength(1);
  expect(await removeReconcileJobs(ctx())).toBe(1);
  expect(await due()).toEqual([]);
});

test("the jobs of instances of version 1.0 are taken over, but for those of deleted accounts", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const nextAttemptAt = clock.now();
  await ctx().db.reconcileJob.createMany({ data: [ann, bob].map(({ id }) => ({ appUserId: id, nextAttemptAt })) });
  await ctx().db.$transaction((tx) => anonymizeBilling(tx, bob.id));
  await removeReconcileJobs({ ...ctx(), billing: billing() });
  expect(await ctx().db.reconcileJob.count()).toBe(0);
  revenueCat.customers.set(ann.id, subscriber({}));
  await runDueJobs();
  expect(revenueCat.asked).toEqual([ann.id]);
});
