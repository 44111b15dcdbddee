import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { accountWithId, newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import {
  anonymous,
  billingEvent,
  DAY_MS,
  deliverOk,
  initialPurchase,
  type Sent,
  statusOf,
  storedEvent,
} from "@/tests/support/billing/billing";
import { replay } from "@/tests/support/billing/operator-actions";
import { clock, ctx } from "@/tests/support/context";

const minutesAgo = (minutes: number) => clock.now().getTime() - minutes * 60_000;
const ownerOf = async (event: Sent) => (await storedEvent(event.id))?.purchase?.accountId;

/** A purchase by a customer, so many minutes ago. */
function purchase(by: string, minutes: number, fields: Record<string, unknown> = {}): Sent {
  const at = minutesAgo(minutes);
  const names = { app_user_id: by, original_app_user_id: by, aliases: [by] };
  return billingEvent("INITIAL_PURCHASE", { ...names, event_timestamp_ms: at, purchased_at_ms: at, ...fields });
}

function transfer(from: string[], to: string[], minutes: number, fields: Record<string, unknown> = {}): Sent {
  const event = { id: randomUUID(), type: "TRANSFER", store: "APP_STORE", event_timestamp_ms: minutesAgo(minutes) };
  return { ...event, environment: "PRODUCTION", transferred_from: from, transferred_to: to, ...fields };
}

async function remove({ password, token }: TestAccount): Promise<void> {
  const response = await post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });
  expect(response.status).toBe(200);
}

function redemption(outcome: string, from: string[], by: string[], minutes: number): Sent {
  const at = { event_timestamp_ms: minutesAgo(minutes), store: "APP_STORE", environment: "PRODUCTION" };
  const people = { redeemed_from: from, redeemed_by: by, redemption_outcome: outcome };
  return { id: randomUUID(), type: "PURCHASE_REDEEMED", ...at, ...people };
}

test("a transfer takes a purchase from one account and gives it to another", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = purchase(ann.id, 10);
  await deliverOk(bought);
  expect(await deliverOk(transfer([ann.id], [anonymous(), bob.id.toUpperCase()], 5))).toBe("processed");
  expect(await statusOf(ann)).toMatchObject({ status: "none", isActive: false, subscriptions: [] });
  expect(await statusOf(bob)).toMatchObject({ status: "active", isActive: true });
});

test("a purchase from before the sign-in belongs to the account once it is transferred", async () => {
  const [ann, device] = [await newAccount(), anonymous()];
  const bought = purchase(device, 10);
  await deliverOk(bought);
  expect(await ownerOf(bought)).toBeNull();
  await deliverOk(transfer([device], [ann.id], 5));
  expect(await statusOf(ann)).toMatchObject({ isActive: true });
});

test("a transfer moves only what its giver has at that moment, in the store and the environment that it names", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const [here, elsewhere, sandbox] = [
    purchase(ann.id, 10),
    purchase(ann.id, 10, { store: "PLAY_STORE" }),
    purchase(ann.id, 10, { environment: "SANDBOX" }),
  ];
  const [later, bobs] = [purchase(ann.id, 1), purchase(bob.id, 10)];
  for (const event of [here, elsewhere, sandbox, bobs]) await deliverOk(event);
  await deliverOk(transfer([ann.id], [bob.id], 5));
  await deliverOk(later);
  expect(await Promise.all([here, elsewhere, sandbox, later, bobs].map(ownerOf))).toEqual([
    bob.id,
    ann.id,
    ann.id,
    ann.id,
    bob.id,
  ]);
});

test("a transfer that names neither store nor environment is narrowed by neither", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = purchase(ann.id, 10, { store: "PLAY_STORE" });
  await deliverOk(bought);
  await deliverOk(transfer([ann.id], [bob.id], 5, { store: undefined, environment: undefined }));
  expect(await ownerOf(bought)).toBe(bob.id);
});

test("a purchase transferred to an unknown customer has no account until the customer signs up and reads the status", async () => {
  const [ann, id] = [await newAccount(), randomUUID()];
  await deliverOk(purchase(ann.id, 10));
  await deliverOk(transfer([ann.id], [id.toUpperCase()], 5));
  expect(await statusOf(ann)).toMatchObject({ status: "none" });
  expect(await statusOf(await accountWithId(id))).toMatchObject({ status: "active", isActive: true });
});

test("a transfer without anybody to take from, or to give to, is kept as failed", async () => {
  for (const event of [transfer([], [randomUUID()], 1), transfer([randomUUID()], [], 1)]) {
    expect(await deliverOk(event)).toBe("failed");
    expect(await storedEvent(event.id)).toMatchObject({ reason: "transfer_names_nobody" });
  }
});

test("an alias gives its account what was bought under the other name, before or after", async () => {
  const [ann, device] = [await newAccount(), anonymous()];
  const [before, after] = [purchase(device, 10), purchase(device, 1)];
  await deliverOk(before);
  const alias = { app_user_id: device, original_app_user_id: device, aliases: [ann.id] };
  expect(await deliverOk({ id: randomUUID(), type: "SUBSCRIBER_ALIAS", ...alias })).toBe("processed");
  await deliverOk(after);
  expect(await Promise.all([before, after].map(ownerOf))).toEqual([ann.id, ann.id]);
});

test("a purchase from before the sign-in is linked once any event names both App User IDs", async () => {
  for (const type of ["EXPERIMENT_ENROLLMENT", "RENEWAL", "TEMPORARY_ENTITLEMENT_GRANT", "MADE_UP_LATER"]) {
    const [ann, device] = [await newAccount(), anonymous()];
    const bought = purchase(device, 10);
    const names = { app_user_id: ann.id, original_app_user_id: device, aliases: [ann.id, device] };
    await deliverOk(bought);
    expect([type, await ownerOf(bought)]).toEqual([type, null]);
    await deliverOk(billingEvent(type, { ...names, environment: "SANDBOX" }));
    expect([type, await ownerOf(bought)]).toEqual([type, ann.id]);
    expect(await statusOf(ann)).toMatchObject({ isActive: true });
    const next = purchase(device, 1);
    await deliverOk(next);
    expect([type, await ownerOf(next)]).toEqual([type, ann.id]);
  }
});

test("an event that names an account takes nothing from another account, nor from whoever a purchase was moved to", async () => {
  const [ann, bob, carl] = [await newAccount(), await newAccount(), await newAccount()];
  const [device, phone] = [anonymous(), anonymous()];
  const [anns, moved] = [purchase(ann.id, 10, { aliases: [device] }), purchase(phone, 10)];
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
    const bought = purchase(device, 10);
    const alias = billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id, aliases: [device] });
    const story = [bought, transfer([ann.id], [bob.id], 5), alias];
    for (const index of order) await deliverOk(story[index] as Sent);
    expect([order, await ownerOf(bought)]).toEqual([order, bob.id]);
  }
});

test("of a purchase and the event that names its account, at the same moment, one sees the other", async () => {
  const stories = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const [ann, device] = [await newAccount(), anonymous()];
      const alias = billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id, aliases: [device] });
      return { ann, events: [purchase(device, 10), alias] as const };
    }),
  );
  await Promise.all(stories.flatMap(({ events }) => events).map(deliverOk));
  for (const { ann, events } of stories) expect(await ownerOf(events[0])).toBe(ann.id);
});

test("a purchase is linked by the next delivery where the process ended before it could be", async () => {
  const [ann, device] = [await newAccount(), anonymous()];
  const [bought, alias] = [purchase(device, 10), billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id })];
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
  const [moved, joined, owned] = [purchase(device, 10), purchase(web, 10), purchase(ann.id, 10)];
  for (const event of [moved, joined, owned]) await deliverOk(event);
  expect(await deliverOk(redemption("transfer", [device], [ann.id], 5))).toBe("processed");
  expect(await deliverOk(redemption("alias", [web], [bob.id], 5))).toBe("processed");
  expect(await deliverOk(redemption("redeemer_owns", [ann.id], [bob.id], 5))).toBe("ignored");
  expect(await Promise.all([moved, joined, owned].map(ownerOf))).toEqual([ann.id, bob.id, ann.id]);
});

test("a temporary grant gives access for a day at most, on a purchase of its own, and is a mere record without an end", async () => {
  const ann = await newAccount();
  const grant = (fields: Record<string, unknown>) =>
    billingEvent("TEMPORARY_ENTITLEMENT_GRANT", { app_user_id: ann.id, original_transaction_id: undefined, ...fields });
  const endless = grant({ expiration_at_ms: null });
  expect(await deliverOk(endless)).toBe("ignored");
  expect(await storedEvent(endless.id)).toMatchObject({ reason: "grant_without_end", purchaseId: null });
  await deliverOk({ ...grant({ transaction_id: null, expiration_at_ms: minutesAgo(0) + 30 * DAY_MS }) });
  expect(await statusOf(ann)).toMatchObject({ status: "active", isActive: true, willRenew: false, stale: false });
  clock.advance(DAY_MS);
  expect(await statusOf(ann)).toMatchObject({ status: "expired", isActive: false });
});

test("an account may have several purchases, and its status is that of the best one", async () => {
  const ann = await newAccount();
  await deliverOk(purchase(ann.id, 10, { entitlement_ids: ["pro"] }));
  await deliverOk(purchase(ann.id, 10, { store: "STRIPE", entitlement_ids: ["cloud"], product_id: "cloud" }));
  await deliverOk(
    billingEvent("NON_RENEWING_PURCHASE", { app_user_id: ann.id, expiration_at_ms: null, product_id: "forever" }),
  );
  const answer = await statusOf(ann);
  expect(answer).toMatchObject({ productId: "forever", isLifetime: true, currentPeriodEndsAt: null });
  expect(answer.subscriptions).toHaveLength(3);
  expect((answer.entitlements as { id: string }[]).map(({ id }) => id)).toEqual(["cloud", "pro"]);
});

test("a purchase and its transfer at the same moment: the purchase goes where the transfer says", async () => {
  const bob = await newAccount();
  const stories = Array.from({ length: 6 }, () => {
    const device = anonymous();
    return [purchase(device, 10), transfer([device], [bob.id], 5)] as const;
  });
  await Promise.all(stories.flat().map(deliverOk));
  for (const [bought] of stories) expect(await ownerOf(bought)).toBe(bob.id);
});

test("owners and states of purchases are the same in every order of arrival", async () => {
  const newStory = async () => {
    const [ann, bob, carl] = [await newAccount(), await newAccount(), await newAccount()];
    const [device, guest, web] = [anonymous(), anonymous(), `web-${randomUUID()}`];
    const [one, two, three] = [randomUUID(), randomUUID(), randomUUID()];
    const of = (id: string) => ({ original_transaction_id: id });
    const events = [
      purchase(device, 60, of(one)),
      purchase(web, 55, of(two)),
      { id: randomUUID(), type: "SUBSCRIBER_ALIAS", app_user_id: web, aliases: [device], event_timestamp_ms: 1 },
      transfer([device], [ann.id], 50),
      purchase(ann.id, 45, { ...of(one), type: "RENEWAL" }),
      transfer([ann.id], [bob.id], 40),
      purchase(bob.id, 35, { ...of(two), type: "CANCELLATION", cancel_reason: "UNSUBSCRIBE" }),
      transfer([bob.id, device], [carl.id], 30, { store: "PLAY_STORE" }),
      purchase(guest, 25, of(three)),
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
    { numRuns: 8, seed: 20_261_120 },
  );
});

test("an alias that joins two accounts takes nothing from the one that an event names", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = initialPurchase(ann.id);
  await deliverOk(bought);
  await deliverOk({ id: randomUUID(), type: "SUBSCRIBER_ALIAS", app_user_id: bob.id, aliases: [ann.id] });
  expect(await ownerOf(bought)).toBe(ann.id);
});

test("after a deletion transferred purchases stay with their new owner", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = purchase(ann.id, 10);
  await deliverOk(bought);
  await deliverOk(transfer([ann.id], [bob.id], 5));
  await remove(ann);
  await deliverOk(purchase(bob.id, 1, { original_transaction_id: bought.original_transaction_id, type: "RENEWAL" }));
  await deliverOk(billingEvent("PRODUCT_CHANGE", { original_transaction_id: bought.original_transaction_id }));
  expect(await statusOf(bob)).toMatchObject({ isActive: true });
  expect(JSON.stringify(await ctx().db.billingEvent.findMany())).not.toContain(ann.id);
});

test("a customer who deletes the account, signs up again and restores purchases gets them back, however often", async () => {
  const [first, others] = [await newAccount(), await newAccount()];
  const bought = purchase(first.id, 10);
  const kept = purchase(first.id, 10, { store: "PLAY_STORE" });
  for (const event of [bought, kept, purchase(others.id, 10)]) await deliverOk(event);
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
  for (const person of [ann, bob]) await deliverOk(purchase(person.id, 10));
  for (const person of [ann, bob]) await remove(person);
  const [newAnn, newBob] = [await newAccount(), await newAccount()];
  await deliverOk({ id: randomUUID(), type: "SUBSCRIBER_ALIAS", app_user_id: newAnn.id, aliases: [ann.id] });
  expect(await statusOf(newAnn)).toMatchObject({ isActive: true });
  const moved = transfer([bob.id], [newBob.id], 5);
  await deliverOk(moved);
  // As a version left them that knew no stand-ins.
  const names = { appUserIds: [newBob.id, bob.id], transferredFrom: [bob.id] };
  await ctx().db.billingEvent.updateMany({ where: { eventId: moved.id }, data: names });
  await ctx().db.purchase.updateMany({
    where: { accountId: newBob.id },
    data: { accountId: null, appUserIds: [] },
  });
  expect(await statusOf(newBob)).toMatchObject({ status: "none" });
  expect(await replay({ eventId: moved.id })).toEqual({ processed: 1 });
  expect(await statusOf(newBob)).toMatchObject({ isActive: true });
});

test("an App User ID that an app gives to all customers links nobody's purchases and delays no delivery", async () => {
  const [ann, shared] = [await newAccount(), `everybody-${randomUUID()}`];
  const firsts = [purchase(anonymous(), 10, { aliases: [shared] }), purchase(anonymous(), 10, { aliases: [shared] })];
  for (const event of firsts) await deliverOk(event);
  // As many customers as one event at a time would take long to name.
  await ctx().db.$executeRaw`
    INSERT INTO "BillingEvent" (id, provider, "eventId", type, state, "appUserIds", "occurredAt", "receivedAt", facts)
    SELECT gen_random_uuid(), 'revenuecat', 'enrolled-' || i, 'EXPERIMENT_ENROLLMENT', 'ignored',
      ARRAY['customer-' || i, ${shared}], now(), now(), '{}' FROM generate_series(1, 1001) AS i`;
  const anns = purchase(ann.id, 5, { aliases: [shared] });
  expect(await deliverOk(anns)).toBe("processed");
  expect(await deliverOk(billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id, aliases: [shared] }))).toBe(
    "ignored",
  );
  expect(await Promise.all([...firsts, anns].map(ownerOf))).toEqual([null, null, ann.id]);
  expect((await storedEvent(anns.id))?.purchase?.appUserIds.length).toBeLessThan(10);
});

test("a transfer from a customer with a hundred ids moves the purchase", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const aliases = Array.from({ length: 100 }, anonymous);
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id, original_app_user_id: aliases[0], aliases }));
  clock.advance(1000);
  const transfer = {
    id: randomUUID(),
    type: "TRANSFER",
    event_timestamp_ms: clock.now().getTime(),
    environment: "PRODUCTION",
    store: "APP_STORE",
    transferred_from: [ann.id, ...aliases],
    transferred_to: [bob.id],
  };
  expect(await deliverOk(transfer)).toBe("processed");
  expect([(await statusOf(ann)).isActive, (await statusOf(bob)).isActive]).toEqual([false, true]);
});
