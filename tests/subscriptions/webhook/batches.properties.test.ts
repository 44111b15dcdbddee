import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pseudonymOf } from "@/lib/subscriptions/app-user-ids";
import { applyEvent, storeAndApply } from "@/lib/subscriptions/inbox/inbox";
import { type NewEvent, ownerAccountIds, storeEvent } from "@/lib/subscriptions/inbox/store";
import { revenueCat } from "@/lib/subscriptions/providers/revenuecat";
import { clock, ctx } from "@/tests/support/context";
import { activeDevices } from "@/tests/support/push/push";
import { DAY_MS } from "@/tests/support/subscriptions/billing";

const RUNS = { numRuns: 5, endOnFailure: true, seed: Number(process.env.FAST_CHECK_SEED ?? 20_261_122) };
const MINUTE_MS = 60_000;

/** An event of a scenario. Names and numbers stand for what each run has of its own: accounts, transactions, events. */
type ScenarioEvent = {
  type: string;
  customers: string[];
  /** The new owner in a transfer. */
  to: string[];
  transaction: number;
  renewal: number | null;
  minute: number;
  period: number;
  expires: number | null;
  reason: string | null;
};
/** The events in their order of arrival, some of them twice, and the sizes of the batches. */
type Scenario = { arrivals: number[]; events: ScenarioEvent[]; sizes: number[] };

const PURCHASE_TYPES = [
  "INITIAL_PURCHASE",
  "RENEWAL",
  "CANCELLATION",
  "EXPIRATION",
  "BILLING_ISSUE",
  "UNCANCELLATION",
  "PRODUCT_CHANGE",
  "NON_RENEWING_PURCHASE",
  "REFUND_REVERSED",
];
const OTHER_TYPES = ["TRANSFER", "SUBSCRIBER_ALIAS", "EXPERIMENT_ENROLLMENT", "TEMPORARY_ENTITLEMENT_GRANT", "NEWER"];
/** The names of each customer. Events of one name that two accounts share would link it in the order of arrival. */
const ANN = ["ann", "$RCAnonymousID:1", "web"];
const BOB = ["bob", "$RCAnonymousID:2"];

const scenarioEvent = (types: string[], customers: fc.Arbitrary<string[]>): fc.Arbitrary<ScenarioEvent> =>
  fc.record({
    type: fc.constantFrom(...types),
    customers,
    to: customers,
    transaction: fc.nat({ max: 3 }),
    /** The transaction of a renewal, and whether the event names the original: a renewal may come first without it. */
    renewal: fc.option(fc.nat({ max: 1 }), { nil: null, freq: 4 }),
    minute: fc.nat({ max: 30 }),
    period: fc.nat({ max: 2 }),
    expires: fc.constantFrom(-5, 30 * 24 * 60, 60 * 24 * 60, null),
    reason: fc.constantFrom("UNSUBSCRIBE", "BILLING_ERROR", "CUSTOMER_SUPPORT", null),
  });

const scenario = (event: fc.Arbitrary<ScenarioEvent>): fc.Arbitrary<Scenario> =>
  fc.array(event, { minLength: 2, maxLength: 9 }).chain((events) => {
    const indexes = events.map((_, i) => i);
    return fc.record({
      events: fc.constant(events),
      arrivals: fc
        .tuple(fc.shuffledSubarray(indexes, { minLength: indexes.length }), fc.subarray(indexes))
        .map((parts) => parts.flat()),
      sizes: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 18, maxLength: 18 }),
    });
  });

/** One run of a scenario: accounts, devices and purchases of its own, and the events in batches. */
async function openRun({ events, arrivals, sizes }: Scenario) {
  const world = randomUUID();
  const accounts = await Promise.all(
    ["ann", "bob"].map((name) => ctx().db.account.create({ data: { email: `${name}-${world}@example.com` } })),
  );
  await Promise.all(
    accounts.map((account) => activeDevices({ ...account, password: "", token: "", sessionId: "" }, 1)),
  );
  const nameOf = (name: string) => accounts[["ann", "bob"].indexOf(name)]?.id ?? `${name}-${world}`;
  const all = events.map((event, i) => deliveryOf(event, i, world, nameOf));
  const queue = arrivals.map((i) => all[i] as NewEvent);
  const batches = sizes.map((size) => queue.splice(0, size)).filter((batch) => batch.length > 0);
  const labels = accounts.flatMap(({ id }, i) => {
    const name = ["ann", "bob"][i] ?? "";
    return [[id, name] as const, [pseudonymOf(id), `deleted-${name}`] as const];
  });
  return { batches, snapshot: () => snapshotOf(world, [...labels, [world, "world"]]) };
}

function deliveryOf(event: ScenarioEvent, index: number, world: string, nameOf: (name: string) => string): NewEvent {
  const start = Math.floor(clock.now().getTime() / DAY_MS) * DAY_MS - 60 * MINUTE_MS;
  const names = event.customers.map(nameOf);
  const original = `${event.transaction}-${world}`;
  const isRenewal = event.renewal !== null;
  const payload = {
    id: `${String(index).padStart(2, "0")}-${world}`,
    type: event.type,
    event_timestamp_ms: start + event.minute * MINUTE_MS,
    purchased_at_ms: start + event.period * 10 * MINUTE_MS,
    expiration_at_ms: event.expires === null ? null : start + event.expires * MINUTE_MS,
    ...(event.type === "TRANSFER"
      ? { transferred_from: names, transferred_to: event.to.map(nameOf) }
      : { app_user_id: names[0], aliases: names.slice(1) }),
    transaction_id: isRenewal ? `renewal-${original}` : original,
    original_transaction_id: event.renewal === 1 ? null : original,
    environment: "PRODUCTION",
    store: "APP_STORE",
    product_id: "monthly",
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    cancel_reason: event.reason,
    expiration_reason: event.reason,
  };
  const receivedAt = clock.now();
  const read = revenueCat.read({ event: payload }, receivedAt);
  return { provider: "revenuecat", eventId: payload.id, event: read, payload: null, receivedAt };
}

/** All that the events of a world have led to, with names in place of the world's own ids. */
async function snapshotOf(world: string, labels: (readonly [string, string])[]) {
  const [events, purchases, notices] = [
    await ctx().db.billingEvent.findMany({
      where: { eventId: { endsWith: world } },
      include: { purchase: { select: { originalTransactionId: true } } },
      // A merge gives an event the original transaction that its purchase has.
      omit: {
        id: true,
        originalTransactionId: true,
        purchaseId: true,
        receivedAt: true,
        processedAt: true,
        nextAttemptAt: true,
      },
      orderBy: { eventId: "asc" },
    }),
    await ctx().db.purchase.findMany({
      where: { originalTransactionId: { endsWith: world } },
      omit: { id: true, createdAt: true, updatedAt: true },
      orderBy: { originalTransactionId: "asc" },
    }),
    await ctx().db.$queryRaw<{ key: string; account: string }[]>`
      SELECT message."eventKey" AS key, device."accountId" AS account FROM "QueuedPush" AS queued
      JOIN "PushMessage" AS message ON message.id = queued."messageId"
      JOIN "PushDevice" AS device ON device.id = queued."deviceId"
      WHERE message."eventKey" LIKE ${`%${world}`} ORDER BY 1, 2`,
  ];
  const json = JSON.stringify({ events, purchases, notices });
  const snapshot = JSON.parse(labels.reduce((text, [id, label]) => text.replaceAll(id, label), json));
  // The order of a customer's further names is that in which events name them.
  for (const purchase of snapshot.purchases) purchase.appUserIds.sort();
  return snapshot;
}

/** Stores the events of each batch, then applies one after the other. */
async function applySingly(batches: NewEvent[][]): Promise<void> {
  for (const batch of batches) {
    for (const event of batch) await storeEvent(ctx(), event);
    for (const { provider, eventId, event } of batch) {
      await applyEvent(ctx(), { provider, eventId, accountIds: ownerAccountIds(event) });
    }
  }
}

async function applyInBatches(batches: NewEvent[][]): Promise<void> {
  for (const batch of batches) await Promise.all(batch.map((event) => storeAndApply(ctx(), event)));
}

test("events in batches lead to the same purchases, owners and states as one after the other", async () => {
  const some = (names: string[]) => fc.shuffledSubarray(names, { minLength: 1 });
  const customers = fc.oneof(some(ANN), some(BOB));
  const types = [...PURCHASE_TYPES, ...OTHER_TYPES];
  await fc.assert(
    fc.asyncProperty(scenario(scenarioEvent(types, customers)), async (one) => {
      const [single, batched] = [await openRun(one), await openRun(one)];
      for (const event of single.batches.flat()) await applySingly([[event]]);
      await applyInBatches(batched.batches);
      const [{ notices: _, ...expected }, { notices: __, ...actual }] = [
        await single.snapshot(),
        await batched.snapshot(),
      ];
      expect(actual).toEqual(expected);
    }),
    RUNS,
  );
});

test("events in batches send the same notifications as one after the other", async () => {
  const customers = fc.constantFrom<string[]>(["ann"], ["bob"], ["ann", "$RCAnonymousID:1"]);
  await fc.assert(
    fc.asyncProperty(scenario(scenarioEvent(PURCHASE_TYPES, customers)), async (one) => {
      const [single, batched] = [await openRun(one), await openRun(one)];
      await applySingly(single.batches);
      await applyInBatches(batched.batches);
      expect(await batched.snapshot()).toEqual(await single.snapshot());
    }),
    RUNS,
  );
});
