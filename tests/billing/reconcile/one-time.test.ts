import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { billingEvent, DAY_MS, deliverOk, statusOf } from "@/tests/support/billing/billing";
import { reconcile } from "@/tests/support/billing/operator-actions";
import { iso, subscriber } from "@/tests/support/billing/revenuecat";
import { setUpRevenueCat } from "@/tests/support/billing/revenuecat-setup";
import { clock } from "@/tests/support/context";

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
  const ann = await newAccount();
  await buyPass(ann, clock.now().getTime() + 30 * DAY_MS);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: false });
  await reconcile(billing(), ann.id);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: false });
});

test("a pass that has ended stays so", async () => {
  const ann = await newAccount();
  const endsAtMs = clock.now().getTime() + 1000;
  const event = await buyPass(ann, endsAtMs);
  clock.advance(5000);
  const expiration = { type: "EXPIRATION", event_timestamp_ms: endsAtMs + 1000, expiration_reason: "UNKNOWN" };
  await deliverOk({ ...event, id: randomUUID(), ...expiration });
  expect(await statusOf(ann)).toMatchObject({ status: "expired" });
  await reconcile(billing(), ann.id);
  expect(await statusOf(ann)).toMatchObject({ status: "expired", isActive: false });
});
