import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { accountWithId, newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { billingEvent, DAY_MS, deliverOk, initialPurchase, statusOf } from "@/tests/support/subscriptions/billing";

const PATH = "/api/subscription/status";

function farAway(): Date {
  return new Date(clock.now().getTime() + 60 * DAY_MS);
}

test("an account without purchases has no subscription", async () => {
  const { checkedAt, subscriptions, entitlements, ...status } = await statusOf(await newAccount());
  expect(checkedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect([subscriptions, entitlements]).toEqual([[], []]);
  expect(status).toMatchObject({ status: "none", isActive: false, willRenew: false, isLifetime: false, stale: false });
  expect(Object.values(status).filter((value) => value !== null && value !== false)).toEqual(["none"]);
});

test("simultaneous status requests of several accounts each return their own subscriptions", async () => {
  const [first, second, none] = [await newAccount(), await newAccount(), await newAccount()];
  for (const { id } of [first, second, second]) await deliverOk(initialPurchase(id));
  const id = randomUUID();
  await deliverOk(initialPurchase(id));
  const late = await accountWithId(id); // its purchase came before it
  const all = [first, second, none, late];
  const answers = await Promise.all([...all, ...all].map(statusOf));
  expect(answers.map(({ subscriptions }) => subscriptions.length)).toEqual([1, 2, 0, 1, 1, 2, 0, 1]);
});

test("the status follows the clock without any event", async () => {
  const account = await newAccount();
  await deliverOk(initialPurchase(account.id));
  clock.advance(30 * DAY_MS - 60_000);
  const { token } = account;
  const after = async (ms: number) => {
    clock.advance(ms);
    const { status, isActive, stale } = await statusOf({ token });
    return { status, isActive, stale };
  };
  await ctx().db.session.updateMany({ where: { accountId: account.id }, data: { idleExpiresAt: farAway() } });
  expect(await after(0)).toEqual({ status: "active", isActive: true, stale: false });
  expect(await after(120_000)).toEqual({ status: "active", isActive: true, stale: true });
  expect(await after(3_600_000)).toEqual({ status: "expired", isActive: false, stale: false });
});

test("sandbox purchases and those without an environment give access only to testers", async () => {
  for (const environment of ["SANDBOX", undefined]) {
    const account = await newAccount();
    await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: account.id, environment }));
    const usual = await statusOf(account);
    const inactive = { isActive: false, entitlements: [{ isActive: false }] };
    expect(usual).toMatchObject({ status: "none", isActive: false, entitlements: [], subscriptions: [inactive] });
    for (const config of [
      { BILLING_SANDBOX_ENTITLES: true },
      { BILLING_SANDBOX_TESTERS: [randomUUID(), account.id.toUpperCase()] },
    ]) {
      await withContext({ config }, async () => {
        expect(await statusOf(account)).toMatchObject({ status: "active", isActive: true });
      });
    }
    await withContext({ config: { BILLING_SANDBOX_TESTERS: [randomUUID()] } }, async () => {
      expect(await statusOf(account)).toMatchObject({ isActive: false });
    });
  }
});

test("a purchase from before the registration is linked when the account requests its status", async () => {
  const id = randomUUID();
  const event = initialPurchase(id.toUpperCase());
  await deliverOk(event);
  const account = await accountWithId(id);
  expect(await statusOf(account)).toMatchObject({ status: "active", isActive: true });
  const row = await ctx().db.billingEvent.findFirst({ where: { eventId: event.id }, include: { purchase: true } });
  expect(row).toMatchObject({ purchase: { accountId: id, appUserIds: expect.arrayContaining([id]) } });
  await deliverOk(billingEvent("RENEWAL", { original_transaction_id: event.original_transaction_id }));
  expect(await statusOf(account)).toMatchObject({ isActive: true });
});

test("a status is not cached, and unknown query parameters are ignored", async () => {
  const { token } = await newAccount();
  const response = await get(`${PATH}?_=123&status=active`, { token });
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
});
