import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock } from "@/tests/support/context";
import { billingEvent, DAY_MS, deliverOk, type Sent, statusOf } from "@/tests/support/subscriptions/billing";
import { reconcile } from "@/tests/support/subscriptions/operator-actions";
import { bought, iso, newCustomer, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";

/** A new account for each test. */
let ann: TestAccount;
beforeEach(async () => {
  ann = await newAccount();
});

const { revenueCat, billing } = await setUpRevenueCat();

/** A pass that ends, as RevenueCat's event and API describe it: the API says it of the entitlement alone. */
async function buyPass(account: { id: string }, endsAtMs: number) {
  const fields = { app_user_id: account.id, product_id: "pass", expiration_at_ms: endsAtMs };
  const event = billingEvent("NON_RENEWING_PURCHASE", fields);
  const pass = {
    id: "x",
    is_sandbox: false,
    purchase_date: iso(event.purchased_at_ms as number),
    store: "app_store",
    store_transaction_id: event.transaction_id,
  };
  const customer = subscriber({}, { pass: [pass] });
  Object.assign(customer.entitlements.pro ?? {}, { expires_date: iso(endsAtMs) });
  revenueCat.customers.set(account.id, customer);
  await deliverOk(event);
  return event;
}

test("a pass that ends does not become a purchase for life", async () => {
  await buyPass(ann, clock.now().getTime() + 30 * DAY_MS);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: false });
  await reconcile(billing(), ann.id);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: false });
});

test("a pass that has ended stays so", async () => {
  const endsAtMs = clock.now().getTime() + 1000;
  const event = await buyPass(ann, endsAtMs);
  clock.advance(5000);
  const expiration = { type: "EXPIRATION", event_timestamp_ms: endsAtMs + 1000, expiration_reason: "UNKNOWN" };
  await deliverOk({ ...event, id: randomUUID(), ...expiration });
  expect(await statusOf(ann)).toMatchObject({ status: "expired" });
  await reconcile(billing(), ann.id);
  expect(await statusOf(ann)).toMatchObject({ status: "expired", isActive: false });
});

/** A lifetime purchase, and how RevenueCat's API lists it. */
async function buyForLife(account: { id: string }) {
  const fields = { app_user_id: account.id, product_id: "pro", expiration_at_ms: null };
  const event = billingEvent("NON_RENEWING_PURCHASE", fields);
  await deliverOk(event);
  clock.advance(1000);
  const purchasedAt = { purchase_date: iso(event.purchased_at_ms as number) };
  const listed = { id: "x", is_sandbox: false, store: "app_store", store_transaction_id: event.transaction_id };
  return { event, listed: { ...listed, ...purchasedAt } };
}

/** A later event of a purchase. */
const later = (event: Sent, type: string, fields: Record<string, unknown>) =>
  deliverOk({ ...event, id: randomUUID(), type, event_timestamp_ms: clock.now().getTime(), ...fields });

test.each([
  ["expired", "EXPIRATION", { expiration_reason: "UNKNOWN" }, {}],
  ["was removed", "CANCELLATION", { cancel_reason: "DEVELOPER_INITIATED" }, {}],
  [
    "was refunded",
    "CANCELLATION",
    { cancel_reason: "CUSTOMER_SUPPORT" },
    { status: "revoked", cancelReason: "CUSTOMER_SUPPORT" },
  ],
])("a lifetime purchase that %s stays so, although the API lists it", async (_, type, fields, expected) => {
  const { event, listed } = await buyForLife(ann);
  await later(event, type, fields);
  clock.advance(1000);
  revenueCat.customers.set(ann.id, subscriber({}, { pro: [listed] }));
  const { customers } = await reconcile(billing(), ann.id);
  expect(customers).toMatchObject([{ known: 1, corrected: 0 }]);
  expect(await statusOf(ann)).toMatchObject({ status: "expired", isActive: false, ...expected });
});

test("a refunded lifetime purchase is not restored by a subscription to the same product", async () => {
  const { event, listed } = await buyForLife(ann);
  await later(event, "CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT" });
  clock.advance(1000);
  const { known } = bought(ann);
  revenueCat.customers.set(ann.id, subscriber({ pro: known }, { pro: [listed] }));
  await reconcile(billing(), ann.id);
  expect((await statusOf(ann)).subscriptions).toMatchObject([
    { status: "active", periodType: "NORMAL" },
    { status: "revoked", periodType: null, isActive: false },
  ]);
});

test("a refunded pass is not restored when the customer buys it again", async () => {
  const event = await buyPass(ann, clock.now().getTime() + 2 * DAY_MS);
  await later(event, "CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT" });
  clock.advance(1000);
  await reconcile(billing(), ann.id);
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
});

test.each([null, "the subscription's"])(
  "a lifetime purchase outlasts a subscription to the same product, if the API's expiry is %s",
  async (expiry) => {
    const ann = await newAccount();
    const { listed } = await buyForLife(ann);
    const ended = { expires_date: iso(clock.now().getTime() - 500), unsubscribe_detected_at: iso(0) };
    const known = { ...bought(ann).known, ...ended, purchase_date: iso(clock.now().getTime() - 900) };
    const customer = subscriber({ pro: known }, { pro: [listed] });
    if (expiry === null)
      for (const entitlement of Object.values(customer.entitlements)) entitlement.expires_date = null;
    revenueCat.customers.set(ann.id, customer);
    await reconcile(billing(), ann.id);
    expect((await statusOf(ann)).subscriptions).toMatchObject([
      { status: "active", isLifetime: true },
      { status: "expired", isLifetime: false },
    ]);
  },
);

test("a lifetime purchase whose event was lost is found, although an earlier one of the product has ended", async () => {
  const { event, listed } = await buyForLife(ann);
  await later(event, "CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT" });
  clock.advance(2000);
  const again = { ...listed, purchase_date: iso(clock.now().getTime()), store_transaction_id: randomUUID() };
  clock.advance(1000);
  revenueCat.customers.set(ann.id, subscriber({}, { pro: [listed, again] }));
  await reconcile(billing(), ann.id);
  expect((await statusOf(ann)).subscriptions).toMatchObject([{ status: "active" }, { status: "revoked" }]);
});

test("a lifetime purchase whose event was lost is not taken for a subscription to the same product", async () => {
  const { ann, event, known } = await newCustomer({ product_id: "pro" });
  clock.advance(2000);
  const listed = { id: "x", is_sandbox: false, store: "app_store", store_transaction_id: randomUUID() };
  const purchase = { ...listed, purchase_date: iso(clock.now().getTime()) };
  const customer = subscriber({ pro: known }, { pro: [purchase] });
  for (const entitlement of Object.values(customer.entitlements)) entitlement.expires_date = null;
  revenueCat.customers.set(ann.id, customer);
  await reconcile(billing(), ann.id);
  await later(event, "EXPIRATION", { expiration_at_ms: clock.now().getTime(), expiration_reason: "UNSUBSCRIBE" });
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true });
});

test("a grant is not touched, although the provider has an ended one of its own with the same product", async () => {
  const { token } = await accountWithRole("admin");
  await post("/api/admin/billing/grants", { accountId: ann.id, entitlementId: "pro", days: 9, reason: "x" }, { token });
  const ended = { expires_date: iso(clock.now().getTime() - DAY_MS), store: "promotional", store_transaction_id: "p" };
  const { known } = await newCustomer();
  revenueCat.customers.set(ann.id, subscriber({ pro: { ...known, ...ended } }));
  await reconcile(billing(), ann.id);
  const { subscriptions, ...status } = await statusOf(ann);
  expect(status).toMatchObject({ status: "active", isActive: true, store: "PROMOTIONAL" });
  expect(subscriptions).toMatchObject([
    { isActive: true, productId: "pro" },
    { isActive: false, productId: "pro" },
  ]);
});
