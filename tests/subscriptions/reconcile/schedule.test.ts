import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import { anonymous, billingEvent, DAY_MS, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";
import { bought, iso, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";

const { revenueCat, withKey } = await setUpRevenueCat();

test("a transfer of unknown purchases schedules the new owner to be reconciled", async () => {
  const bob = await newAccount();
  const { known } = bought(bob);
  revenueCat.customers.set(bob.id, subscriber({ monthly: known }));
  await withKey(async () => {
    const people = { app_user_id: null, transferred_from: [randomUUID()], transferred_to: [anonymous(), bob.id] };
    await deliverOk(billingEvent("TRANSFER", people));
    await expect.poll(() => revenueCat.asked).toEqual([bob.id]);
    await expect.poll(async () => (await statusOf(bob)).status).toBe("active");
  });
});

test("a transfer, a refund and an overdue renewal schedule a reconciliation after the response, once", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const { event, known } = bought(ann);
  await withKey(async () => {
    await deliverOk(event);
    await statusOf(ann);
    expect(revenueCat.asked).toEqual([]);
    const people = { app_user_id: null, transferred_from: [ann.id], transferred_to: [bob.id.toUpperCase()] };
    await deliverOk(billingEvent("TRANSFER", people));
    await expect.poll(() => revenueCat.asked).toEqual([bob.id.toUpperCase()]);

    clock.advance(30 * DAY_MS + 1000);
    const renewed = {
      purchase_date: iso(clock.now().getTime()),
      expires_date: iso(clock.now().getTime() + 30 * DAY_MS),
    };
    revenueCat.customers.set(bob.id.toUpperCase(), subscriber({ monthly: { ...known, ...renewed } }));
    await ctx().db.session.updateMany({ data: { idleExpiresAt: new Date(clock.now().getTime() + DAY_MS) } });
    expect(await statusOf(bob)).toMatchObject({ status: "active", stale: true });
    await expect.poll(async () => (await statusOf(bob)).stale).toBe(false);
    expect(revenueCat.asked).toHaveLength(2);
  });
});

test("a subscription known only by an event without an end is scheduled to be reconciled", async () => {
  const ann = await newAccount();
  const { event, known } = bought(ann);
  revenueCat.customers.set(ann.id, subscriber({ monthly: known }));
  await withKey(async () => {
    await deliverOk({ ...event, type: "RENEWAL", expiration_at_ms: null });
    await expect.poll(async () => (await statusOf(ann)).status).toBe("active");
    expect(revenueCat.asked).toEqual([ann.id]);
  });
});

test("one-time purchases, with a lifetime or without an entitlement, schedule no reconciliation", async () => {
  const ann = await newAccount();
  await withKey(async () => {
    const fields = { app_user_id: ann.id, expiration_at_ms: null };
    await deliverOk(billingEvent("NON_RENEWING_PURCHASE", fields));
    await deliverOk(billingEvent("NON_RENEWING_PURCHASE", { ...fields, entitlement_ids: null }));
    await statusOf(ann);
    const { event } = bought(ann, { expiration_at_ms: null });
    await deliverOk(event);
    await statusOf(ann);
    await expect.poll(() => revenueCat.asked).toEqual([ann.id]);
  });
  const asked = await ctx().db.purchase.findMany({ where: { accountId: ann.id, reconciledAt: { not: null } } });
  expect(asked).toMatchObject([{ productId: "monthly" }]);
});
