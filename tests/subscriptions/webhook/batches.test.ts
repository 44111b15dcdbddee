import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { storeAndApply } from "@/lib/subscriptions/inbox/inbox";
import { revenueCat } from "@/lib/subscriptions/providers/revenuecat";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import {
  anonymous,
  billingEvent,
  deliver,
  deliverOk,
  type Sent,
  storedEvent,
} from "@/tests/support/subscriptions/billing";
import { onRow, repair, whenProcessed } from "@/tests/support/subscriptions/faults";

/** Delivers events that arrive in the same turn of the event loop. Returns the status of each. */
const deliverTogether = (events: Sent[]) => Promise.all(events.map(deliverOk));

const purchases = (count: number, fields: Record<string, unknown> = {}) =>
  Array.from({ length: count }, () => billingEvent("INITIAL_PURCHASE", fields));

/** PL/pgSQL to run before an event of the inbox is written as processed. */
const onProcessed = (event: Sent, body: string) => onRow("INSERT OR UPDATE", whenProcessed(event, body));
afterEach(repair);

test("deliveries that arrive together share transactions, and each gets its own receipt", async () => {
  const events = purchases(40);
  const receipts = await Promise.all(events.map(async (event) => (await deliver(event)).json()));
  expect(receipts).toEqual(events.map(({ id }) => ({ status: "processed", eventId: id })));
  const [count] = await ctx().db.$queryRaw<{ transactions: number }[]>`
    SELECT count(DISTINCT xmin::text)::int AS transactions FROM "BillingEvent"
    WHERE "eventId" = ANY(${events.map(({ id }) => id)})`;
  expect(count?.transactions).toBeLessThan(events.length);
});

test("an event that comes twice in a batch is applied once, and the second receipt says duplicate", async () => {
  const [event, other] = [billingEvent("INITIAL_PURCHASE"), billingEvent("INITIAL_PURCHASE")];
  expect(await deliverTogether([event, event, other])).toEqual(["processed", "duplicate", "processed"]);
  const ignored = billingEvent("TEST");
  expect(await deliverTogether([ignored, ignored, other])).toEqual(["ignored", "ignored", "duplicate"]);
});

test.each([
  ["before the purchase", -90_000],
  ["after the transfer", 30_000],
])(
  "an event that is the first to name a transferred customer, %s, gives its purchase to the new owner",
  async (_, ms) => {
    const [bob, buyer, other] = [await newAccount(), anonymous(), anonymous()];
    const now = clock.now().getTime();
    const names = { app_user_id: buyer, original_app_user_id: buyer, original_transaction_id: randomUUID() };
    await deliverOk(billingEvent("INITIAL_PURCHASE", { ...names, aliases: [], event_timestamp_ms: now - 60_000 }));
    const transfer = { transferred_from: [other], transferred_to: [bob.id], event_timestamp_ms: now - 30_000 };
    await deliverOk(billingEvent("TRANSFER", transfer));
    clock.advance(2 * 60 * 60 * 1000);
    const naming = billingEvent("CANCELLATION", { ...names, aliases: [other], event_timestamp_ms: now + ms });
    await deliverOk(naming);
    expect((await storedEvent(naming.id))?.purchase?.accountId).toBe(bob.id);
  },
);

test("a renewal without its original transaction and one with it, in a batch, are one purchase", async () => {
  for (const reversed of [false, true]) {
    const [original, renewal] = [randomUUID(), randomUUID()];
    const events = [
      billingEvent("RENEWAL", { transaction_id: renewal, original_transaction_id: null }),
      billingEvent("CANCELLATION", { transaction_id: renewal, original_transaction_id: original }),
    ];
    await deliverTogether(reversed ? events.toReversed() : events);
    const [first, second] = await Promise.all(events.map(({ id }) => storedEvent(id)));
    expect(first?.purchaseId).toBe(second?.purchaseId);
    expect(first?.purchase?.originalTransactionId).toBe(original);
  }
});

test.each(["TRANSFER", "SUBSCRIBER_ALIAS"])(
  "an event of type %s says nothing about the transaction that it names, whichever event is first",
  async (type) => {
    const purchases: (string | undefined)[] = [];
    for (const reversed of [false, true]) {
      const [original, renewal] = [randomUUID(), randomUUID()];
      const named = { transaction_id: renewal, original_transaction_id: original };
      const events = [
        billingEvent(type, { ...named, transferred_from: [anonymous()], transferred_to: [anonymous()] }),
        billingEvent("RENEWAL", { transaction_id: renewal, original_transaction_id: null }),
      ] as const;
      for (const event of reversed ? events.toReversed() : events) await deliverOk(event);
      const found = (await storedEvent(events[1].id))?.purchase?.originalTransactionId;
      purchases.push(found === renewal ? "renewal" : "original");
    }
    expect(purchases).toEqual(["renewal", "renewal"]);
  },
);

test("an event that cannot be applied is marked failed, and the others of its batch are applied", async () => {
  const events = purchases(5);
  const [poison] = events as [Sent];
  await onProcessed(poison, "RAISE EXCEPTION 'poison';");
  expect(await deliverTogether(events)).toEqual(["failed", "processed", "processed", "processed", "processed"]);
  expect(await storedEvent(poison.id)).toMatchObject({ state: "failed", reason: expect.stringContaining("poison") });
});

test("an event that waits for a lock in vain is 503, and the others of its batch are applied", async () => {
  const events = purchases(5);
  const [stuck] = events as [Sent];
  await onProcessed(stuck, "RAISE lock_not_available;");
  const statuses = await Promise.all(events.map(async (event) => (await deliver(event)).status));
  expect(statuses).toEqual([503, 200, 200, 200, 200]);
  expect(await storedEvent(stuck.id)).toMatchObject({ state: "received" });
});

test("a transfer that cannot be applied in time fails no later purchase of its customer", async () => {
  const [bob, device] = [await newAccount(), anonymous()];
  const before = { event_timestamp_ms: clock.now().getTime() - 120_000 };
  const transfer = billingEvent("TRANSFER", { ...before, transferred_from: [device], transferred_to: [bob.id] });
  await onProcessed(transfer, "RAISE lock_not_available;");
  expect((await deliver(transfer)).status).toBe(503);
  const events = purchases(3, { app_user_id: device });
  const receipts = await Promise.all(events.map(async (event) => (await deliver(event)).json()));
  expect(receipts.map(({ status }) => status)).toEqual(["processed", "processed", "processed"]);
});

test("however many transfers a customer had, a later purchase applies one of them again at most", async () => {
  const device = anonymous();
  const before = { event_timestamp_ms: clock.now().getTime() - 120_000 };
  const transfers = Array.from({ length: 5 }, () =>
    billingEvent("TRANSFER", { ...before, transferred_from: [device], transferred_to: [anonymous()] }),
  );
  await deliverTogether(transfers);
  const versions = () => ctx().db.$queryRaw<{ version: string }[]>`
    SELECT xmin::text AS version FROM "BillingEvent" WHERE "eventId" = ANY(${transfers.map(({ id }) => id)})`;
  const known = new Set((await versions()).map(({ version }) => version));
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: device }));
  expect((await versions()).filter(({ version }) => !known.has(version)).length).toBeLessThanOrEqual(1);
});

test.each(["unique_violation", "foreign_key_violation"])(
  "a batch that others have overtaken three times, by a %s, still shares a transaction",
  async (conflict) => {
    const events = purchases(5);
    const [overtaken] = events as [Sent];
    await ctx().db.$executeRawUnsafe("CREATE SEQUENCE attempts");
    try {
      await onProcessed(overtaken, `IF nextval('attempts') <= 3 THEN RAISE ${conflict}; END IF;`);
      expect(new Set(await deliverTogether(events))).toEqual(new Set(["processed"]));
    } finally {
      await ctx().db.$executeRawUnsafe("DROP SEQUENCE attempts");
    }
    const rows = await ctx().db.$queryRaw<unknown[]>`
      SELECT DISTINCT xmin::text FROM "BillingEvent" WHERE "eventId" = ANY(${events.map(({ id }) => id)})`;
    expect(rows).toHaveLength(1);
  },
);

test("batches of two processes with the same purchases, in opposite orders, are all applied", async () => {
  const transactions = Array.from({ length: 20 }, () => randomUUID());
  const batch = (type: string, order: string[]) =>
    order.map((id) => billingEvent(type, { original_transaction_id: id }));
  const processes = [
    { deps: { ...ctx() }, events: batch("INITIAL_PURCHASE", transactions) },
    { deps: { ...ctx() }, events: batch("RENEWAL", transactions.toReversed()) },
    { deps: { ...ctx() }, events: batch("CANCELLATION", transactions) },
  ];
  const receivedAt = clock.now();
  const applied = await Promise.all(
    processes.flatMap(({ deps, events }) =>
      events.map((event) => {
        const read = revenueCat.read({ event }, receivedAt);
        return storeAndApply(deps, {
          provider: "revenuecat",
          eventId: event.id,
          event: read,
          payload: null,
          receivedAt,
        });
      }),
    ),
  );
  expect(new Set(applied.map(({ status }) => status))).toEqual(new Set(["processed"]));
  const rows = await ctx().db.purchase.findMany({
    where: { originalTransactionId: { in: transactions } },
    include: { _count: { select: { events: true } } },
  });
  expect(rows.map(({ _count }) => _count.events)).toEqual(transactions.map(() => 3));
});
