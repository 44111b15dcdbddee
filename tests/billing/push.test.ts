import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { replayEvents } from "@/lib/admin/billing/replay-events";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { billingEvent, DAY_MS, deliverOk, type Sent, statusOf } from "@/tests/support/billing/billing";
import { clock, ctx, withContext } from "@/tests/support/context";
import { activate, registeredDevice } from "@/tests/support/push/push";

async function subscriber(): Promise<{ account: TestAccount; deviceId: string; purchase: Record<string, unknown> }> {
  const account = await newAccount();
  const { device } = await registeredDevice(account);
  await activate(device.id);
  return { account, deviceId: device.id, purchase: { app_user_id: account.id, original_transaction_id: randomUUID() } };
}

/** The billing notifications of a device, oldest first. */
const noticesTo = (deviceId: string) =>
  ctx().db.pushDelivery.findMany({ where: { deviceId, kind: { startsWith: "billing." } }, orderBy: { id: "asc" } });
const kindsTo = async (deviceId: string) => (await noticesTo(deviceId)).map(({ kind }) => kind);

/** An event of the purchase's next period. */
const next = (type: string, purchase: Record<string, unknown>, fields: Record<string, unknown> = {}) => {
  const now = clock.now().getTime();
  return billingEvent(type, { ...purchase, purchased_at_ms: now, expiration_at_ms: now + 31 * DAY_MS, ...fields });
};

test("a failed payment, an end and a renewal are told to every active device of the owner", async () => {
  const { account, deviceId, purchase } = await subscriber();
  const { device: pending } = await registeredDevice(account);
  await deliverOk(billingEvent("INITIAL_PURCHASE", purchase));
  expect(await kindsTo(deviceId)).toEqual([]);
  await deliverOk(billingEvent("BILLING_ISSUE", purchase));
  await deliverOk(billingEvent("CANCELLATION", { ...purchase, cancel_reason: "BILLING_ERROR" }));
  expect(await kindsTo(deviceId)).toEqual(["billing.payment_failed"]);
  await deliverOk(billingEvent("EXPIRATION", { ...purchase, expiration_reason: "BILLING_ERROR" }));
  await deliverOk(next("RENEWAL", purchase));
  expect(await kindsTo(deviceId)).toEqual(["billing.payment_failed", "billing.expired", "billing.renewed"]);
  expect(await noticesTo(pending.id)).toEqual([]);
});

test("a notification says what happened to which purchase, and neither sum nor address", async () => {
  const { deviceId, purchase } = await subscriber();
  await deliverOk(billingEvent("INITIAL_PURCHASE", purchase));
  await deliverOk(billingEvent("BILLING_ISSUE", purchase));
  const row = await ctx().db.purchase.findFirst({
    where: { originalTransactionId: String(purchase.original_transaction_id) },
  });
  const [notice] = await noticesTo(deviceId);
  expect(notice).toMatchObject({
    priority: 10,
    collapseId: `bill:${row?.id}`,
    payload: {
      aps: {
        alert: { "title-loc-key": "billing.payment_failed.title", "loc-key": "billing.payment_failed.body" },
        "interruption-level": "active",
        "thread-id": "billing",
      },
      data: { v: 1, kind: "billing.payment_failed", link: "subscription" },
    },
  });
  expect(JSON.stringify(notice?.payload)).not.toMatch(/4\.99|@/);
});

test.each<[string, string, Record<string, unknown>]>([
  ["a refund", "CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT" }],
  ["a refund that revokes", "CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT", expiration_at_ms: null }],
  ["somebody's own cancellation", "CANCELLATION", { cancel_reason: "UNSUBSCRIBE" }],
  ["a pause that begins", "EXPIRATION", { expiration_reason: "SUBSCRIPTION_PAUSED" }],
])("%s is not told", async (_, type, fields) => {
  const { deviceId, purchase } = await subscriber();
  await deliverOk(billingEvent("INITIAL_PURCHASE", purchase));
  await deliverOk(billingEvent(type, { ...purchase, ...fields }));
  expect(await kindsTo(deviceId)).toEqual([]);
});

const SECOND_MS = 1000;

test("whoever changes product on Google Play is not told that all has ended, and has the new product's access alone", async () => {
  const { account, deviceId, purchase } = await subscriber();
  const now = clock.now().getTime();
  const old = { ...purchase, store: "PLAY_STORE", product_id: "basic:monthly", entitlement_ids: ["basic"] };
  const bought = { ...old, purchased_at_ms: now - DAY_MS };
  await deliverOk(billingEvent("INITIAL_PURCHASE", bought));
  await deliverOk(billingEvent("PRODUCT_CHANGE", bought));
  const changed = { original_transaction_id: randomUUID(), product_id: "pro:monthly", entitlement_ids: ["pro"] };
  await deliverOk(billingEvent("INITIAL_PURCHASE", { ...old, ...changed }));
  const active = async () => {
    const { entitlements } = await statusOf(account);
    return (entitlements as { id: string; isActive: boolean }[]).filter(({ isActive }) => isActive).map(({ id }) => id);
  };
  expect(await active()).toEqual(["pro"]);
  await deliverOk(billingEvent("EXPIRATION", { ...bought, expiration_at_ms: now }));
  expect(await active()).toEqual(["pro"]);
  expect(await kindsTo(deviceId)).toEqual([]);
});

test("an end and a failed payment are told where no other purchase of the account gives the same", async () => {
  const { account, deviceId, purchase } = await subscriber();
  const [first, second] = [purchase, { ...purchase, original_transaction_id: randomUUID(), store: "STRIPE" }];
  for (const one of [first, second]) await deliverOk(billingEvent("INITIAL_PURCHASE", one));
  await deliverOk(billingEvent("BILLING_ISSUE", first));
  await deliverOk(billingEvent("EXPIRATION", { ...first, expiration_reason: "BILLING_ERROR" }));
  expect(await kindsTo(deviceId)).toEqual([]);
  const storage = { ...purchase, original_transaction_id: randomUUID(), entitlement_ids: ["storage"] };
  await deliverOk(billingEvent("INITIAL_PURCHASE", storage));
  await deliverOk(billingEvent("BILLING_ISSUE", storage));
  expect(await kindsTo(deviceId)).toEqual(["billing.payment_failed"]);
  await deliverOk(billingEvent("EXPIRATION", { ...storage, expiration_reason: "BILLING_ERROR" }));
  await deliverOk(billingEvent("EXPIRATION", { ...second, expiration_reason: "UNSUBSCRIBE" }));
  expect(await kindsTo(deviceId)).toEqual(["billing.payment_failed", "billing.expired"]);
  expect(await statusOf(account)).toMatchObject({ status: "expired", isActive: false });
});

test("a temporary grant that is taken back ends, and its owner is told once", async () => {
  const { account, deviceId, purchase } = await subscriber();
  const transaction = { transaction_id: randomUUID(), original_transaction_id: undefined };
  const granted = {
    ...purchase,
    ...transaction,
    environment: undefined,
    expiration_at_ms: clock.now().getTime() + DAY_MS,
  };
  await deliverOk(billingEvent("TEMPORARY_ENTITLEMENT_GRANT", granted));
  expect(await statusOf(account)).toMatchObject({ status: "active", isActive: true, willRenew: false });
  clock.advance(SECOND_MS);
  await deliverOk(billingEvent("EXPIRATION", { ...purchase, ...transaction }));
  const answer = await statusOf(account);
  expect(answer).toMatchObject({ status: "expired", isActive: false });
  expect(answer.subscriptions).toHaveLength(1);
  expect(await kindsTo(deviceId)).toEqual(["billing.expired"]);
});

test("an event is told once, however often it is delivered and replayed, also to devices that came later", async () => {
  const { account, deviceId, purchase } = await subscriber();
  await deliverOk(billingEvent("INITIAL_PURCHASE", purchase));
  const renewal = next("RENEWAL", purchase);
  await Promise.all([deliverOk(renewal), deliverOk(renewal)]);
  const { device: later } = await registeredDevice(account);
  await activate(later.id);
  await deliverOk(renewal);
  for await (const { status } of replayEvents(ctx(), { eventId: renewal.id })) expect(status).toBe("processed");
  expect(await kindsTo(deviceId)).toEqual(["billing.renewed"]);
  expect(await kindsTo(later.id)).toEqual([]);
});

test("what is no news any more is not told: an event of the day before yesterday, or of a period that is over", async () => {
  const { deviceId, purchase } = await subscriber();
  const before = clock.now().getTime() - 2 * DAY_MS;
  await deliverOk(
    billingEvent("INITIAL_PURCHASE", { ...purchase, purchased_at_ms: before, event_timestamp_ms: before }),
  );
  await deliverOk(
    billingEvent("BILLING_ISSUE", { ...purchase, purchased_at_ms: before, event_timestamp_ms: before + 1 }),
  );
  await deliverOk(next("RENEWAL", purchase));
  await deliverOk(billingEvent("BILLING_ISSUE", { ...purchase, purchased_at_ms: before }));
  expect(await kindsTo(deviceId)).toEqual(["billing.renewed"]);
});

test("sandbox purchases are told to nobody but testers", async () => {
  const { account, deviceId, purchase } = await subscriber();
  const sandbox = { ...purchase, environment: "SANDBOX" };
  await deliverOk(billingEvent("INITIAL_PURCHASE", sandbox));
  await deliverOk(next("RENEWAL", sandbox));
  expect(await kindsTo(deviceId)).toEqual([]);
  await withContext({ config: { BILLING_SANDBOX_TESTERS: [account.id] } }, async () => {
    clock.advance(60_000);
    await deliverOk(next("RENEWAL", sandbox));
  });
  expect(await kindsTo(deviceId)).toEqual(["billing.renewed"]);
});

test("an event that cannot be told is not applied either: both are there, or neither", async () => {
  const { deviceId, purchase } = await subscriber();
  await deliverOk(billingEvent("INITIAL_PURCHASE", purchase));
  const renewal: Sent = next("RENEWAL", purchase);
  await ctx().db
    .$executeRaw`ALTER TABLE "PushDelivery" ADD CONSTRAINT outbox_full CHECK ("kind" <> 'billing.renewed') NOT VALID`;
  try {
    expect(await deliverOk(renewal)).toBe("failed");
  } finally {
    await ctx().db.$executeRaw`ALTER TABLE "PushDelivery" DROP CONSTRAINT outbox_full`;
  }
  expect(await kindsTo(deviceId)).toEqual([]);
  const row = await ctx().db.billingEvent.findFirst({ where: { eventId: renewal.id } });
  expect(row).toMatchObject({ state: "failed", purchaseId: null, reason: expect.stringContaining("outbox_full") });
  expect(await deliverOk(renewal)).toBe("processed");
  expect(await kindsTo(deviceId)).toEqual(["billing.renewed"]);
});
