import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { clock, ctx, withContext } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { activate, activatedDevice, registeredDevice } from "@/tests/support/push/push";
import { billingEvent, DAY_MS, deliverOk, type Sent, statusOf } from "@/tests/support/subscriptions/billing";
import { replay } from "@/tests/support/subscriptions/operator-actions";

async function subscriber() {
  const { account, device } = await activatedDevice();
  const purchase: Record<string, unknown> = { app_user_id: account.id, original_transaction_id: randomUUID() };
  return { account, deviceId: device.id, purchase };
}

async function buyer() {
  const bought = await subscriber();
  await deliverOk(billingEvent("INITIAL_PURCHASE", bought.purchase));
  return bought;
}

/** The billing notifications of a device, oldest first. */
const noticesTo = async (deviceId: string) =>
  (await deliveriesOf({ deviceId })).filter(({ kind }) => kind.startsWith("billing.") && kind !== "billing.changed");
/** Why the app on a device was woken, oldest first. */
const wakeUpsOf = async (deviceId: string) =>
  (await deliveriesOf({ deviceId })).flatMap(({ kind, payload }) =>
    kind === "billing.changed" ? (payload as { data: { reason: string } }).data.reason : [],
  );
const kindsTo = async (deviceId: string) => (await noticesTo(deviceId)).map(({ kind }) => kind);

/** An event of the purchase's next period. */
const next = (type: string, purchase: Record<string, unknown>, fields: Record<string, unknown> = {}) => {
  const now = clock.now().getTime();
  return billingEvent(type, { ...purchase, purchased_at_ms: now, expiration_at_ms: now + 31 * DAY_MS, ...fields });
};

test("a failed payment, an expiration and a renewal notify every active device of the owner", async () => {
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

test("a refund and a recovery wake the apps of the owner once each, in the background", async () => {
  const { deviceId, purchase } = await buyer();
  await deliverOk(billingEvent("BILLING_ISSUE", purchase));
  expect(await wakeUpsOf(deviceId)).toEqual([]);
  await deliverOk(next("RENEWAL", purchase));
  expect(await wakeUpsOf(deviceId)).toEqual(["recovery"]);
  const refund = next("CANCELLATION", purchase, { cancel_reason: "CUSTOMER_SUPPORT" });
  await deliverOk(refund);
  await deliverOk(refund);
  expect(await replay({ eventId: refund.id })).toEqual({ processed: 1 });
  expect(await wakeUpsOf(deviceId)).toEqual(["recovery", "refund"]);
  const wakeUps = (await deliveriesOf({ deviceId })).filter(({ kind }) => kind === "billing.changed");
  expect(wakeUps[0]).toMatchObject({ priority: 5, payload: { aps: { "content-available": 1 } } });
});

test("a transfer wakes the apps of both accounts", async () => {
  const [from, to] = [await subscriber(), await subscriber()];
  await deliverOk(billingEvent("INITIAL_PURCHASE", from.purchase));
  await deliverOk(
    billingEvent("TRANSFER", {
      app_user_id: null,
      aliases: [],
      transferred_from: [from.account.id],
      transferred_to: [to.account.id],
    }),
  );
  expect([await wakeUpsOf(from.deviceId), await wakeUpsOf(to.deviceId)]).toEqual([["transfer"], ["transfer"]]);
});

test.each<[string, string, Record<string, unknown>]>([
  ["a refund", "CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT" }],
  ["a refund that revokes", "CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT", expiration_at_ms: null }],
  ["somebody's own cancellation", "CANCELLATION", { cancel_reason: "UNSUBSCRIBE" }],
  ["a pause that begins", "EXPIRATION", { expiration_reason: "SUBSCRIPTION_PAUSED" }],
])("%s notifies nobody", async (_, type, fields) => {
  const { deviceId, purchase } = await buyer();
  await deliverOk(billingEvent(type, { ...purchase, ...fields }));
  expect(await kindsTo(deviceId)).toEqual([]);
});

test("a product change on Google Play sends no expiration notice and leaves the new product's access only", async () => {
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

test("an expiration and a failed payment notify the owner unless another purchase gives the same access", async () => {
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

test("an event notifies once, however often it is delivered and replayed, also with devices registered later", async () => {
  const { account, deviceId, purchase } = await buyer();
  const renewal = next("RENEWAL", purchase);
  await Promise.all([deliverOk(renewal), deliverOk(renewal)]);
  const { device: later } = await registeredDevice(account);
  await activate(later.id);
  await deliverOk(renewal);
  expect(await replay({ eventId: renewal.id })).toEqual({ processed: 1 });
  expect(await kindsTo(deviceId)).toEqual(["billing.renewed"]);
  expect(await kindsTo(later.id)).toEqual([]);
});

/** Changes a field of the stored payload of an event, as if an earlier version had not read it. */
async function correctPayload(eventId: string, field: string, value: unknown): Promise<void> {
  const count = await ctx().db.$executeRaw`
    UPDATE "BillingEvent" SET payload = jsonb_set(payload, ARRAY['event', ${field}], ${JSON.stringify(value)}::jsonb)
    WHERE "eventId" = ${eventId}`;
  expect(count).toBe(1);
}

test("a replay notifies of an event that it applies for the first time within a day, and of a processed one never", async () => {
  const { deviceId, purchase } = await buyer();
  const corrected = async (renewal: Sent) => {
    await deliverOk({ ...renewal, original_transaction_id: null, transaction_id: null });
    await correctPayload(renewal.id, "original_transaction_id", purchase.original_transaction_id);
    return { eventId: renewal.id };
  };
  const recent = await corrected(next("RENEWAL", purchase));
  expect(await kindsTo(deviceId)).toEqual([]);
  expect(await replay(recent)).toEqual({ processed: 1 });
  expect(await kindsTo(deviceId)).toEqual(["billing.renewed"]);

  const now = clock.now().getTime();
  await correctPayload(recent.eventId, "expiration_at_ms", now + 60 * DAY_MS);
  expect(await replay(recent)).toEqual({ processed: 1 });
  const { currentPeriodEndsAt } = await ctx().db.purchase.findFirstOrThrow({ where: { events: { some: recent } } });
  expect(currentPeriodEndsAt?.getTime()).toBe(now + 60 * DAY_MS);

  const old = await corrected(next("RENEWAL", purchase, { expiration_at_ms: now + 90 * DAY_MS }));
  clock.advance(DAY_MS + 1_000);
  expect(await replay(old)).toEqual({ processed: 1 });
  expect(await kindsTo(deviceId)).toEqual(["billing.renewed"]);
});

test("events of the day before yesterday and of past periods notify nobody", async () => {
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

test("sandbox purchases notify testers only", async () => {
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

test("an event whose notification cannot be stored is not applied either", async () => {
  const { deviceId, purchase } = await buyer();
  const renewal: Sent = next("RENEWAL", purchase);
  await ctx().db
    .$executeRaw`ALTER TABLE "PushMessage" ADD CONSTRAINT outbox_full CHECK ("kind" <> 'billing.renewed') NOT VALID`;
  try {
    expect(await deliverOk(renewal)).toBe("failed");
  } finally {
    await ctx().db.$executeRaw`ALTER TABLE "PushMessage" DROP CONSTRAINT outbox_full`;
  }
  expect(await kindsTo(deviceId)).toEqual([]);
  const row = await ctx().db.billingEvent.findFirst({ where: { eventId: renewal.id } });
  expect(row).toMatchObject({ state: "failed", purchaseId: null, reason: expect.stringContaining("outbox_full") });
  expect(await deliverOk(renewal)).toBe("processed");
  expect(await kindsTo(deviceId)).toEqual(["billing.renewed"]);
});
