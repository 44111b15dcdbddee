import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { retryEvents } from "@/lib/subscriptions/inbox/inbox";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import {
  billingEvent,
  deliver,
  deliverOk,
  type Sent,
  statusOf,
  storedEvent,
} from "@/tests/support/subscriptions/billing";
import { onRow, repair, whenProcessed } from "@/tests/support/subscriptions/faults";
import { openBillingMetrics } from "@/tests/support/subscriptions/metrics";

const pass = (minutes: number) => clock.advance(minutes * 60_000);

/** A lock that is not had in time, whenever the event is applied. */
const isLocked = (event: Sent) => whenProcessed(event, "RAISE lock_not_available;");

const stateOf = async ({ id }: Sent) => (await storedEvent(id))?.state;

beforeEach(() => {
  pass(60);
  return retryEvents(ctx()); // what other tests have left
});
afterEach(repair);

test("a delivery whose row is not there after it was written is 503, and the next one is applied", async () => {
  const ann = await newAccount();
  const bought = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id });
  await onRow("INSERT", `IF NEW."eventId" = '${bought.id}' THEN RETURN NULL; END IF;`);
  const response = await deliver(bought);
  expect([response.status, await response.json()]).toMatchObject([503, { code: "unavailable" }]);
  await repair();
  expect(await deliverOk(bought)).toBe("processed");
  expect(await statusOf(ann)).toMatchObject({ isActive: true });
});

test("an event that could not be applied in time is applied without another delivery", async () => {
  const ann = await newAccount();
  const bought = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id });
  await onRow("INSERT OR UPDATE", isLocked(bought));
  expect((await deliver(bought)).status).toBe(503);
  await repair();
  await retryEvents(ctx()); // its delivery may still be at it
  expect(await stateOf(bought)).toBe("received");
  pass(2);
  await retryEvents(ctx());
  expect(await stateOf(bought)).toBe("processed");
  expect(await statusOf(ann)).toMatchObject({ isActive: true });
  expect(await deliverOk(bought)).toBe("duplicate");
});

test("an event that cannot be applied delays no other and is retried with growing delays", async () => {
  const events = [billingEvent("INITIAL_PURCHASE"), billingEvent("INITIAL_PURCHASE")] as const;
  const [stuck, other] = events;
  await onRow("INSERT OR UPDATE", `IF NEW.state = 'processed' THEN RAISE lock_not_available; END IF;`);
  for (const event of events) expect((await deliver(event)).status).toBe(503);
  await repair();
  await onRow("INSERT OR UPDATE", isLocked(stuck));
  pass(2);
  await retryEvents(ctx());
  expect([await stateOf(stuck), await stateOf(other)]).toEqual(["received", "processed"]);
  const waits = [];
  for (let attempts = 1; attempts <= 9; attempts += 1) {
    const [row] = await ctx().db.$queryRaw<{ attempts: number; minutes: number }[]>`
      SELECT attempts, ceil(extract(epoch FROM "nextAttemptAt" - ${clock.dbNow()}) / 60)::int AS minutes
      FROM "BillingEvent" WHERE "eventId" = ${stuck.id}`;
    waits.push([row?.attempts, row?.minutes]);
    pass(60);
    await retryEvents(ctx());
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((minutes, i) => [i + 1, minutes]));
  await repair();
  pass(60);
  await retryEvents(ctx());
  expect(await stateOf(stuck)).toBe("processed");
});

test("an event that failed by an error is retried ten times, and then waits for an operator", async () => {
  const [passing, lasting] = [billingEvent("INITIAL_PURCHASE"), billingEvent("INITIAL_PURCHASE")];
  const fails = (event: Sent) => whenProcessed(event, "RAISE division_by_zero;");
  await onRow("INSERT OR UPDATE", fails(passing) + fails(lasting));
  for (const event of [passing, lasting]) expect(await deliverOk(event)).toBe("failed");
  await retryEvents(ctx());
  expect((await storedEvent(passing.id))?.attempts).toBe(0);
  await repair();
  await onRow("INSERT OR UPDATE", fails(lasting));
  for (let hours = 0; hours < 20; hours += 1) {
    pass(61);
    await retryEvents(ctx());
  }
  expect(await storedEvent(passing.id)).toMatchObject({ state: "processed", attempts: 1, reason: null });
  expect(await storedEvent(lasting.id)).toMatchObject({ state: "failed", attempts: 10, nextAttemptAt: null });
  await repair();
  expect(await deliverOk(lasting)).toBe("processed");
});

test("an event that lacks what it needs is not retried", async () => {
  const event = billingEvent("TRANSFER", { transferred_from: [], transferred_to: [] });
  expect(await deliverOk(event)).toBe("failed");
  pass(60);
  await retryEvents(ctx());
  expect(await storedEvent(event.id)).toMatchObject({ state: "failed", attempts: 0, nextAttemptAt: null });
});

test("any number of processes apply what was left at the same time, each event once", async () => {
  const ann = await newAccount();
  const purchase = { app_user_id: ann.id, original_transaction_id: randomUUID() };
  const events = ["INITIAL_PURCHASE", "RENEWAL", "CANCELLATION"].map((type) => billingEvent(type, purchase));
  await onRow("INSERT OR UPDATE", `IF NEW.state = 'processed' THEN RAISE lock_not_available; END IF;`);
  for (const event of events) expect((await deliver(event)).status).toBe(503);
  await repair();
  pass(2);
  await Promise.all([retryEvents(ctx()), retryEvents(ctx()), retryEvents(ctx())]);
  expect(await Promise.all(events.map(stateOf))).toEqual(["processed", "processed", "processed"]);
  expect((await statusOf(ann)).subscriptions).toHaveLength(1);
});

test("the metrics contain the number of pending events and the age of the oldest", async () => {
  const { metric } = await openBillingMetrics();
  const bought = billingEvent("INITIAL_PURCHASE");
  expect([await metric("events_pending"), await metric("events_pending_oldest_age_seconds")]).toEqual([0, 0]);
  await onRow("INSERT OR UPDATE", isLocked(bought));
  expect((await deliver(bought)).status).toBe(503);
  await ctx().db.$executeRaw`
    UPDATE "BillingEvent" SET "receivedAt" = ${clock.dbNow()} - interval '1 hour' WHERE "eventId" = ${bought.id}`;
  expect(await metric("events_pending")).toBe(1);
  expect(await metric("events_pending_oldest_age_seconds")).toBeGreaterThanOrEqual(3600);
});
