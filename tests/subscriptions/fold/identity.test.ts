import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Prisma } from "@/lib/platform/db/generated/client";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import {
  anonymous,
  billingEvent,
  deliverOk,
  initialPurchase,
  type Sent,
  statusOf,
  storedEvent,
} from "@/tests/support/subscriptions/billing";
import { ownerOf, purchaseBy, redemption, transfer } from "@/tests/support/subscriptions/customers";
import { replay } from "@/tests/support/subscriptions/operator-actions";

test("an alias gives its account what was bought under the other name, before or after", async () => {
  const [ann, device] = [await newAccount(), anonymous()];
  const [before, after] = [purchaseBy(device, 10), purchaseBy(device, 1)];
  await deliverOk(before);
  const alias = { app_user_id: device, original_app_user_id: device, aliases: [ann.id] };
  expect(await deliverOk({ id: randomUUID(), type: "SUBSCRIBER_ALIAS", ...alias })).toBe("processed");
  await deliverOk(after);
  expect(await Promise.all([before, after].map(ownerOf))).toEqual([ann.id, ann.id]);
});

test("a purchase from before the sign-in is linked once any event names both App User IDs", async () => {
  for (const type of ["EXPERIMENT_ENROLLMENT", "RENEWAL", "TEMPORARY_ENTITLEMENT_GRANT", "MADE_UP_LATER"]) {
    const [ann, device] = [await newAccount(), anonymous()];
    const bought = purchaseBy(device, 10);
    const names = { app_user_id: ann.id, original_app_user_id: device, aliases: [ann.id, device] };
    await deliverOk(bought);
    expect([type, await ownerOf(bought)]).toEqual([type, null]);
    await deliverOk(billingEvent(type, { ...names, environment: "SANDBOX" }));
    expect([type, await ownerOf(bought)]).toEqual([type, ann.id]);
    expect(await statusOf(ann)).toMatchObject({ isActive: true });
    const next = purchaseBy(device, 1);
    await deliverOk(next);
    expect([type, await ownerOf(next)]).toEqual([type, ann.id]);
  }
});

test("an event that names an account takes nothing from another account, nor from whoever a purchase was moved to", async () => {
  const [ann, bob, carl] = [await newAccount(), await newAccount(), await newAccount()];
  const [device, phone] = [anonymous(), anonymous()];
  const [anns, moved] = [purchaseBy(ann.id, 10, { aliases: [device] }), purchaseBy(phone, 10)];
  await deliverOk(anns);
  await deliverOk(moved);
  await deliverOk(transfer([phone], [ann.id], 5));
  for (const [by, other] of [
    [bob, device],
    [carl, phone],
  ] as const)
    await deliverOk(billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: by.id, aliases: [other] }));
  expect(await Promise.all([anns, moved].map(ownerOf))).toEqual([ann.id, ann.id]);
  expect(await statusOf(bob)).toMatchObject({ status: "none" });
});

test("a transfer moves what was bought under a name that only another event gives to its giver", async () => {
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    const [ann, bob, device] = [await newAccount(), await newAccount(), anonymous()];
    const bought = purchaseBy(device, 10);
    const alias = billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id, aliases: [device] });
    const history = [bought, transfer([ann.id], [bob.id], 5), alias];
    for (const index of order) await deliverOk(history[index] as Sent);
    expect([order, await ownerOf(bought)]).toEqual([order, bob.id]);
  }
});

test("of a purchase and the event that names its account, at the same moment, one sees the other", async () => {
  const stories = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const [ann, device] = [await newAccount(), anonymous()];
      const alias = billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id, aliases: [device] });
      return { ann, events: [purchaseBy(device, 10), alias] as const };
    }),
  );
  await Promise.all(stories.flatMap(({ events }) => events).map(deliverOk));
  for (const { ann, events } of stories) expect(await ownerOf(events[0])).toBe(ann.id);
});

test("a purchase is linked by the next delivery where the process ended before it could be", async () => {
  const [ann, device] = [await newAccount(), anonymous()];
  const [bought, alias] = [purchaseBy(device, 10), billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id })];
  await deliverOk(bought);
  await deliverOk(alias);
  // As a process leaves it that ends between the two.
  await ctx().db.billingEvent.updateMany({ where: { eventId: alias.id }, data: { appUserIds: [ann.id, device] } });
  expect(await ownerOf(bought)).toBeNull();
  expect(await deliverOk(alias)).toBe("ignored");
  expect(await ownerOf(bought)).toBe(ann.id);
});

test("a redeemed web purchase is a transfer, an alias, or nothing, as its outcome says", async () => {
  const [ann, bob, device, web] = [await newAccount(), await newAccount(), anonymous(), "web-customer-17"];
  const [moved, joined, owned] = [purchaseBy(device, 10), purchaseBy(web, 10), purchaseBy(ann.id, 10)];
  for (const event of [moved, joined, owned]) await deliverOk(event);
  expect(await deliverOk(redemption("transfer", [device], [ann.id], 5))).toBe("processed");
  expect(await deliverOk(redemption("alias", [web], [bob.id], 5))).toBe("processed");
  expect(await deliverOk(redemption("redeemer_owns", [ann.id], [bob.id], 5))).toBe("ignored");
  expect(await Promise.all([moved, joined, owned].map(ownerOf))).toEqual([ann.id, bob.id, ann.id]);
});

test("a temporary grant without an end is a mere record", async () => {
  const ann = await newAccount();
  const grant = { app_user_id: ann.id, original_transaction_id: undefined, expiration_at_ms: null };
  const endless = billingEvent("TEMPORARY_ENTITLEMENT_GRANT", grant);
  expect(await deliverOk(endless)).toBe("ignored");
  expect(await storedEvent(endless.id)).toMatchObject({ reason: "grant_without_end", purchaseId: null });
});

test("owners and states of purchases are the same in every order of arrival", async () => {
  const newStory = async () => {
    const [ann, bob, carl] = [await newAccount(), await newAccount(), await newAccount()];
    const [device, guest, web] = [anonymous(), anonymous(), `web-${randomUUID()}`];
    const [one, two, three] = [randomUUID(), randomUUID(), randomUUID()];
    const of = (id: string) => ({ original_transaction_id: id });
    const events = [
      purchaseBy(device, 60, of(one)),
      purchaseBy(web, 55, of(two)),
      { id: randomUUID(), type: "SUBSCRIBER_ALIAS", app_user_id: web, aliases: [device], event_timestamp_ms: 1 },
      transfer([device], [ann.id], 50),
      purchaseBy(ann.id, 45, { ...of(one), type: "RENEWAL" }),
      transfer([ann.id], [bob.id], 40),
      purchaseBy(bob.id, 35, { ...of(two), type: "CANCELLATION", cancel_reason: "UNSUBSCRIBE" }),
      transfer([bob.id, device], [carl.id], 30, { store: "PLAY_STORE" }),
      purchaseBy(guest, 25, of(three)),
      billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: carl.id, aliases: [guest] }),
    ];
    return { bob, carl, events, purchases: [one, two, three] };
  };
  const end = async (purchases: string[]) => {
    const rows = await ctx().db.purchase.findMany({ where: { originalTransactionId: { in: purchases } } });
    const byKey = new Map(rows.map((row) => [row.originalTransactionId, row]));
    return purchases.map((key) => [byKey.get(key)?.accountId, byKey.get(key)?.unsubscribedAt !== null]);
  };
  const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], { minLength: 10, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(order, async (indexes) => {
      const { bob, carl, events, purchases } = await newStory();
      for (const index of indexes) await deliverOk(events[index] as Sent);
      expect(await end(purchases)).toEqual([
        [bob.id, false],
        [bob.id, true],
        [carl.id, false],
      ]);
    }),
    { numRuns: 4, seed: 20_261_120 },
  );
});

test("an alias that joins two accounts takes nothing from the one that an event names", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = initialPurchase(ann.id);
  await deliverOk(bought);
  await deliverOk({ id: randomUUID(), type: "SUBSCRIBER_ALIAS", app_user_id: bob.id, aliases: [ann.id] });
  expect(await ownerOf(bought)).toBe(ann.id);
});

test("an App User ID that an app gives to all customers links nobody's purchases and delays no delivery", async () => {
  const [ann, shared] = [await newAccount(), `everybody-${randomUUID()}`];
  const firsts = [
    purchaseBy(anonymous(), 10, { aliases: [shared] }),
    purchaseBy(anonymous(), 10, { aliases: [shared] }),
  ];
  for (const event of firsts) await deliverOk(event);
  // As many customers as one event at a time would take long to name.
  await ctx().db.$executeRaw`
    INSERT INTO "BillingEvent" (id, provider, "eventId", type, state, "appUserIds", "occurredAt", "receivedAt", facts)
    SELECT gen_random_uuid(), 'revenuecat', 'enrolled-' || i, 'EXPERIMENT_ENROLLMENT', 'ignored',
      ARRAY['customer-' || i, ${shared}], now(), now(), '{}' FROM generate_series(1, 1001) AS i`;
  const anns = purchaseBy(ann.id, 5, { aliases: [shared] });
  expect(await deliverOk(anns)).toBe("processed");
  expect(await deliverOk(billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id, aliases: [shared] }))).toBe(
    "ignored",
  );
  expect(await Promise.all([...firsts, anns].map(ownerOf))).toEqual([null, null, ann.id]);
  expect((await storedEvent(anns.id))?.purchase?.appUserIds.length).toBeLessThan(10);
});

async function remove({ password, token }: TestAccount): Promise<void> {
  expect((await post("/api/auth/account/delete", { confirm: "DELETE", password }, { token })).status).toBe(200);
}

test("after a deletion transferred purchases stay with their new owner", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = purchaseBy(ann.id, 10);
  await deliverOk(bought);
  await deliverOk(transfer([ann.id], [bob.id], 5));
  await remove(ann);
  await deliverOk(purchaseBy(bob.id, 1, { original_transaction_id: bought.original_transaction_id, type: "RENEWAL" }));
  await deliverOk(billingEvent("PRODUCT_CHANGE", { original_transaction_id: bought.original_transaction_id }));
  expect(await statusOf(bob)).toMatchObject({ isActive: true });
  expect(JSON.stringify(await ctx().db.billingEvent.findMany())).not.toContain(ann.id);
});

test("what a giver bought before a transfer, and arrives after the giver's deletion, is the new owner's", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = purchaseBy(ann.id, 10);
  await deliverOk(bought);
  await deliverOk(transfer([ann.id], [bob.id], 5));
  await remove(ann);
  await deliverOk(purchaseBy(ann.id, 8, { original_transaction_id: bought.original_transaction_id, type: "RENEWAL" }));
  const late = purchaseBy(ann.id, 7);
  await deliverOk(late);
  expect(await Promise.all([bought, late].map(ownerOf))).toEqual([bob.id, bob.id]);
  expect(await statusOf(bob)).toMatchObject({ isActive: true });
});

test("a purchase of which all arrives after the giver's deletion goes where it was transferred last", async () => {
  const [ann, bob, carl] = [await newAccount(), await newAccount(), await newAccount()];
  await remove(ann);
  const renewed = purchaseBy(ann.id, 3, { type: "RENEWAL" });
  for (const event of [renewed, transfer([ann.id], [bob.id], 5), transfer([ann.id], [carl.id], 2)])
    await deliverOk(event);
  expect(await ownerOf(renewed)).toBe(carl.id);
});

test("a purchase follows its transfers where a deleted receiver had an App User ID of the giver", async () => {
  const [ann, bob, carl, dave] = [await newAccount(), await newAccount(), await newAccount(), await newAccount()];
  const device = anonymous();
  const bought = purchaseBy(device, 10);
  await deliverOk(bought);
  await deliverOk(transfer([device, ann.id], [bob.id], 8));
  await deliverOk(transfer([bob.id, device], [carl.id], 6));
  await remove(carl);
  await deliverOk(transfer([carl.id], [dave.id], 4));
  expect(await ownerOf(bought)).toBe(dave.id);
});

test("what a deleted account had bought goes to nobody who has an App User ID of what was transferred to it", async () => {
  const [ann, bob, device] = [await newAccount(), await newAccount(), anonymous()];
  const [moved, own] = [purchaseBy(device, 10), purchaseBy(bob.id, 9)];
  for (const event of [moved, own]) await deliverOk(event);
  await deliverOk({ id: randomUUID(), type: "SUBSCRIBER_ALIAS", app_user_id: ann.id, aliases: [device] });
  await deliverOk(transfer([ann.id, device], [bob.id], 5));
  await remove(bob);
  const renewal = { type: "RENEWAL", original_transaction_id: own.original_transaction_id };
  await deliverOk(purchaseBy(bob.id, 1, renewal));
  expect(await Promise.all([moved, own].map(ownerOf))).toEqual([null, null]);
});

test("a customer who deletes the account, signs up again and restores purchases gets them back, however often", async () => {
  const [first, others] = [await newAccount(), await newAccount()];
  const bought = purchaseBy(first.id, 10);
  const kept = purchaseBy(first.id, 10, { store: "PLAY_STORE" });
  for (const event of [bought, kept, purchaseBy(others.id, 10)]) await deliverOk(event);
  await remove(first);
  const second = await newAccount();
  expect(await deliverOk(transfer([first.id.toUpperCase(), anonymous()], [second.id], 8))).toBe("processed");
  expect(await statusOf(second)).toMatchObject({ status: "active", isActive: true, store: "APP_STORE" });
  await remove(second);
  const third = await newAccount();
  await deliverOk(transfer([second.id], [third.id], 6, { store: undefined }));
  expect(await statusOf(third)).toMatchObject({ isActive: true, store: "APP_STORE" });
  expect((await statusOf(third)).subscriptions).toHaveLength(1);
  expect(await ownerOf(kept)).toBeNull();
  expect((await statusOf(others)).subscriptions).toHaveLength(1);
});

test("an alias of a deleted account's id gives what was bought under it, and so does a transfer that is replayed", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  for (const person of [ann, bob]) await deliverOk(purchaseBy(person.id, 10));
  for (const person of [ann, bob]) await remove(person);
  const [newAnn, newBob] = [await newAccount(), await newAccount()];
  await deliverOk({ id: randomUUID(), type: "SUBSCRIBER_ALIAS", app_user_id: newAnn.id, aliases: [ann.id] });
  expect(await statusOf(newAnn)).toMatchObject({ isActive: true });
  const moved = transfer([bob.id], [newBob.id], 5);
  await deliverOk(moved);
  // As a version left them that knew no stand-ins.
  const payload = { api_version: "1.0", event: moved as Prisma.InputJsonObject };
  const data = { appUserIds: [newBob.id, bob.id], transferredFrom: [bob.id], payload };
  await ctx().db.billingEvent.updateMany({ where: { eventId: moved.id }, data });
  await ctx().db.purchase.updateMany({ where: { accountId: newBob.id }, data: { accountId: null, appUserIds: [] } });
  expect(await statusOf(newBob)).toMatchObject({ status: "none" });
  expect(await replay({ eventId: moved.id })).toEqual({ processed: 1 });
  expect(await statusOf(newBob)).toMatchObject({ isActive: true });
});
