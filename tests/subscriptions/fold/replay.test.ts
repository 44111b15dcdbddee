import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { listBillingEvents } from "@/lib/subscriptions/admin/list-events";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx, emptyTables } from "@/tests/support/context";
import {
  billingEvent,
  DAY_MS,
  deliverOk,
  initialPurchase,
  statusOf,
  storedEvent,
} from "@/tests/support/subscriptions/billing";
import { prune, replay } from "@/tests/support/subscriptions/operator-actions";

/** Leaves an event as a service left it that did not understand its type yet. */
async function forgetMeaning(eventId: string): Promise<void> {
  await ctx().db.billingEvent.updateMany({
    where: { eventId },
    data: { state: "ignored", reason: "type_not_applied", processedAt: null, appUserIds: [], transferredFrom: [] },
  });
}

test("an event that was stored before its type was understood is understood when it is replayed", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = initialPurchase(ann.id);
  const moved = billingEvent("TRANSFER", { app_user_id: null, transferred_from: [ann.id], transferred_to: [bob.id] });
  await forgetMeaning(moved.id);
  await deliverOk(moved);
  await forgetMeaning(moved.id);
  await ctx().db.$executeRaw`
    UPDATE "BillingEvent" SET facts = facts - 'identityChange' - 'snapshot' WHERE "eventId" = ${moved.id}`;
  await deliverOk(bought);
  expect(await statusOf(ann)).toMatchObject({ isActive: true });
  expect(await replay({ eventId: moved.id })).toEqual({ processed: 1 });
  expect(await storedEvent(moved.id)).toMatchObject({ state: "processed", reason: null, accountId: bob.id });
  expect(await statusOf(ann)).toMatchObject({ status: "none" });
  expect(await statusOf(bob)).toMatchObject({ isActive: true });
});

test("what failed is replayed on its own, and stays failed with its reason while its cause is there", async () => {
  await emptyTables();
  const event = initialPurchase(randomUUID());
  await deliverOk(event);
  const { facts, payload } = (await storedEvent(event.id)) ?? {};
  const broken = { state: "failed" as const, facts: { occurredAt: "never" }, payload: undefined };
  await ctx().db.billingEvent.updateMany({ where: { eventId: event.id }, data: broken });
  await ctx().db.$executeRaw`UPDATE "BillingEvent" SET payload = NULL WHERE "eventId" = ${event.id}`;
  await deliverOk(initialPurchase(randomUUID()));
  expect(await replay("failed")).toEqual({ failed: 1 });
  expect(await storedEvent(event.id)).toMatchObject({ state: "failed", reason: expect.stringContaining("occurredAt") });
  await ctx().db.billingEvent.updateMany({ where: { eventId: event.id }, data: { payload: payload ?? {} } });
  expect(await replay("failed")).toEqual({ processed: 1 });
  expect(await storedEvent(event.id)).toMatchObject({ state: "processed", reason: null, facts });
});

test("a processed event that cannot be replayed is reported and stays processed", async () => {
  const event = initialPurchase(randomUUID());
  await deliverOk(event);
  await ctx().db.$executeRaw`
    UPDATE "BillingEvent" SET payload = NULL, facts = '{"occurredAt": "never"}' WHERE "eventId" = ${event.id}`;
  expect(await replay({ eventId: event.id })).toEqual({ failed: 1 });
  expect(await storedEvent(event.id)).toMatchObject({ state: "processed", purchase: { productId: event.product_id } });
});

test("replaying everything changes nothing: neither purchases nor owners nor what is kept", async () => {
  await emptyTables();
  const [ann, bob] = [await newAccount(), await newAccount()];
  for (const account of [ann, bob]) await deliverOk(initialPurchase(account.id));
  await deliverOk(billingEvent("TEST"));
  await deliverOk(
    billingEvent("TRANSFER", { app_user_id: null, transferred_from: [ann.id], transferred_to: [bob.id] }),
  );
  const kept = async () => {
    const order = { orderBy: { id: "asc" as const } };
    return {
      purchases: await ctx().db.purchase.findMany({ ...order, omit: { updatedAt: true } }),
      events: await ctx().db.billingEvent.findMany({ ...order, omit: { processedAt: true } }),
    };
  };
  const before = await kept();
  expect(await replay("all")).toEqual({ processed: 3, ignored: 1 });
  expect(await kept()).toEqual(before);
});

test("replaying everything applies the rules of this version to what an older one stored", async () => {
  await emptyTables();
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = initialPurchase(ann.id);
  const now = clock.now().getTime();
  const granted = { app_user_id: bob.id, environment: undefined, original_transaction_id: undefined };
  const grant = billingEvent("TEMPORARY_ENTITLEMENT_GRANT", { ...granted, expiration_at_ms: now + DAY_MS });
  const refund = { ...bought, id: randomUUID(), type: "CANCELLATION", cancel_reason: "CUSTOMER_SUPPORT" };
  for (const event of [bought, refund, grant]) await deliverOk(event);
  // As a version left them that ended access with every refund, and gave each grant a purchase of its own, nowhere.
  await ctx().db.purchase.updateMany({ where: { accountId: ann.id }, data: { endedAt: new Date(now) } });
  const asBefore = { environment: "UNKNOWN", originalTransactionId: `grant:${grant.id}` };
  await ctx().db.purchase.updateMany({ where: { accountId: bob.id }, data: asBefore });
  await ctx().db.billingEvent.updateMany({ where: { eventId: grant.id }, data: { environment: null } });
  for (const account of [ann, bob]) expect(await statusOf(account)).toMatchObject({ isActive: false });
  expect(await replay("all")).toEqual({ processed: 3 });
  for (const account of [ann, bob]) {
    const answer = await statusOf(account);
    expect(answer).toMatchObject({ status: "active", isActive: true });
    expect(answer.subscriptions).toHaveLength(1);
  }
});

test("an event that is read onto another purchase leaves the one it was on, which goes when it is empty", async () => {
  const event = billingEvent("INITIAL_PURCHASE", { store: "PLAY_STORE", original_transaction_id: "GPA.77-1..4" });
  await deliverOk(event);
  // As a reader left it that did not know of Google's renewal numbers.
  await ctx().db.purchase.updateMany({
    where: { originalTransactionId: "GPA.77-1" },
    data: { originalTransactionId: "GPA.77-1..4" },
  });
  expect(await replay({ eventId: event.id })).toEqual({ processed: 1 });
  const purchases = await ctx().db.purchase.findMany({ where: { originalTransactionId: { startsWith: "GPA.77" } } });
  expect(purchases.map(({ originalTransactionId }) => originalTransactionId)).toEqual(["GPA.77-1"]);
});

test("a renewal that named no first purchase joins its purchase once one of its events does", async () => {
  const [first, second] = [randomUUID(), randomUUID()];
  const orphan = billingEvent("RENEWAL", { original_transaction_id: null, transaction_id: second });
  await deliverOk(orphan);
  await deliverOk(billingEvent("INITIAL_PURCHASE", { original_transaction_id: first, transaction_id: first }));
  clock.advance(1000);
  const refund = { original_transaction_id: first, transaction_id: second, cancel_reason: "CUSTOMER_SUPPORT" };
  await deliverOk(billingEvent("CANCELLATION", refund));
  const purchases = await ctx().db.purchase.findMany({ where: { originalTransactionId: { in: [first, second] } } });
  expect(purchases).toEqual([expect.objectContaining({ originalTransactionId: first, refundedAt: expect.any(Date) })]);
  expect((await storedEvent(orphan.id))?.purchaseId).toBe(purchases[0]?.id);
});

test("pruning deletes old payloads only, and keeps those of failed events", async () => {
  await emptyTables();
  const ann = await newAccount();
  const [old, failed] = [
    initialPurchase(ann.id),
    billingEvent("RENEWAL", { original_transaction_id: null, transaction_id: null }),
  ];
  await deliverOk(old);
  await deliverOk(failed);
  clock.advance(10 * DAY_MS);
  const young = billingEvent("UNCANCELLATION", { ...old, id: randomUUID(), type: "UNCANCELLATION" });
  await deliverOk(young);
  const status = await statusOf(ann);
  expect(await prune(5)).toBe(1);
  expect(await prune(5)).toBe(0);
  expect(await storedEvent(old.id)).toMatchObject({ payload: null, facts: { productId: old.product_id } });
  expect((await storedEvent(failed.id))?.payload).not.toBeNull();
  expect((await storedEvent(young.id))?.payload).not.toBeNull();
  expect(await replay({ eventId: old.id })).toEqual({ processed: 1 });
  expect(await statusOf(ann)).toEqual({ ...status, checkedAt: expect.anything() });
});

test("the inbox is listed newest first, by state, by account and unlinked events only", async () => {
  await emptyTables();
  const ann = await newAccount();
  const [ignored, hers, nobodys, failed] = [
    billingEvent("TEST"),
    initialPurchase(ann.id),
    initialPurchase(randomUUID()),
    billingEvent("RENEWAL", { original_transaction_id: null, transaction_id: null, app_user_id: ann.id }),
  ];
  for (const event of [ignored, hers, nobodys, failed]) {
    await deliverOk(event);
    clock.advance(1000);
  }
  const ids = async (selection: Parameters<typeof listBillingEvents>[1]) =>
    (await listBillingEvents(ctx(), selection)).events.map(({ eventId }) => eventId);
  expect(await ids({ limit: 50 })).toEqual([failed.id, nobodys.id, hers.id, ignored.id]);
  expect(await ids({ limit: 1 })).toEqual([failed.id]);
  expect(await ids({ limit: 50, state: "failed" })).toEqual([failed.id]);
  expect(await ids({ limit: 50, account: ann.id })).toEqual([failed.id, hers.id]);
  expect(await ids({ limit: 50, unlinked: "true" })).toEqual([nobodys.id]);
  expect(await ids({ limit: 50, unlinked: "true", state: "ignored" })).toEqual([ignored.id]);
  expect(await ids({ event: hers.id })).toEqual([hers.id]);
});
