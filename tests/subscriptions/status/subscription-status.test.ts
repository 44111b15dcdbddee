import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { accountWithId, newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import {
  billingEvent,
  DAY_MS,
  deliverOk,
  initialPurchase,
  revokingRefund,
  statusOf,
} from "@/tests/support/subscriptions/billing";

const PATH = "/api/subscription/status";

function farAway(): Date {
  return new Date(clock.now().getTime() + 60 * DAY_MS);
}

test("an account without purchases has no subscription", async () => {
  expect(await statusOf(await newAccount())).toEqual({
    purchaseId: null,
    status: "none",
    isActive: false,
    willRenew: false,
    isLifetime: false,
    isFamilyShare: false,
    stale: false,
    entitlements: [],
    productId: null,
    pendingProductId: null,
    changesTo: null,
    store: null,
    periodType: null,
    environment: null,
    startedAt: null,
    currentPeriodStartsAt: null,
    currentPeriodEndsAt: null,
    accessEndsAt: null,
    gracePeriodEndsAt: null,
    canceledAt: null,
    cancelReason: null,
    expirationReason: null,
    billingIssueDetectedAt: null,
    refundedAt: null,
    resumesAt: null,
    managementUrl: null,
    subscriptions: [],
    lastEventAt: null,
    checkedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
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

test("a status contains all fields of a subscription", async () => {
  const account = await newAccount();
  const event = initialPurchase(account.id);
  await deliverOk(event);
  const endsAt = new Date(event.expiration_at_ms as number).toISOString();
  const startsAt = new Date(event.purchased_at_ms as number).toISOString();
  const purchase = {
    status: "active",
    isActive: true,
    willRenew: true,
    entitlements: [{ id: "pro", isActive: true, expiresAt: endsAt, productId: event.product_id, store: "APP_STORE" }],
    productId: event.product_id,
    store: "APP_STORE",
    periodType: "NORMAL",
    environment: "PRODUCTION",
    startedAt: startsAt,
    currentPeriodStartsAt: startsAt,
    currentPeriodEndsAt: endsAt,
    accessEndsAt: endsAt,
    managementUrl: "https://apps.apple.com/account/subscriptions",
  };
  const lastEventAt = new Date(event.event_timestamp_ms as number).toISOString();
  expect(await statusOf(account)).toMatchObject({ ...purchase, subscriptions: [purchase], lastEventAt });
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

test("events that come out of order end in the same status as those that come in order", async () => {
  const history = (appUserId: string) => {
    const shared = { app_user_id: appUserId, original_transaction_id: randomUUID() };
    const now = clock.now().getTime();
    return [
      billingEvent("INITIAL_PURCHASE", { ...shared, event_timestamp_ms: now - 4000, period_type: "TRIAL" }),
      billingEvent("CANCELLATION", { ...shared, event_timestamp_ms: now - 3000, cancel_reason: "UNSUBSCRIBE" }),
      billingEvent("UNCANCELLATION", { ...shared, event_timestamp_ms: now - 2000 }),
      billingEvent("PRODUCT_CHANGE", { ...shared, event_timestamp_ms: now - 1000, new_product_id: "yearly" }),
    ];
  };
  const [forwards, backwards] = [await newAccount(), await newAccount()];
  for (const event of history(forwards.id)) await deliverOk(event);
  for (const event of history(backwards.id).reverse()) await deliverOk(event);
  for (const account of [forwards, backwards]) {
    expect(await statusOf(account)).toMatchObject({
      status: "trialing",
      canceledAt: null,
      pendingProductId: "yearly",
      isActive: true,
    });
  }
});

test("a refund that revokes ends access at once, and its reversal restores it", async () => {
  const account = await newAccount();
  const shared = { app_user_id: account.id, original_transaction_id: randomUUID() };
  await deliverOk(billingEvent("INITIAL_PURCHASE", shared));
  await deliverOk(billingEvent("CANCELLATION", { ...shared, ...revokingRefund(), price: -4.99 }));
  expect(await statusOf(account)).toMatchObject({ status: "revoked", isActive: false, willRenew: false });
  await deliverOk(billingEvent("REFUND_REVERSED", shared));
  expect(await statusOf(account)).toMatchObject({ status: "active", isActive: true, refundedAt: null });
});

test("a refund with an expiry in the future ends access at that expiry", async () => {
  const account = await newAccount();
  const shared = { app_user_id: account.id, original_transaction_id: randomUUID() };
  await deliverOk(billingEvent("INITIAL_PURCHASE", shared));
  await deliverOk(billingEvent("CANCELLATION", { ...shared, cancel_reason: "CUSTOMER_SUPPORT", price: -4.99 }));
  expect(await statusOf(account)).toMatchObject({
    status: "active",
    isActive: true,
    willRenew: true,
    cancelReason: "CUSTOMER_SUPPORT",
    refundedAt: expect.any(String),
  });
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

test("a purchase gives access to its own account only", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  await deliverOk(initialPurchase(ann.id));
  expect(await statusOf(ann)).toMatchObject({ isActive: true });
  expect(await statusOf(bob)).toMatchObject({ status: "none", subscriptions: [] });
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

test("a status requires a session", async () => {
  for (const options of [{}, { token: "nonsense" }]) {
    const response = await get(PATH, options);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).not.toBeNull();
    expect(await response.json()).toMatchObject({ code: "unauthenticated" });
  }
});

test("a status is not cached, and unknown query parameters are ignored", async () => {
  const { token } = await newAccount();
  const response = await get(`${PATH}?_=123&status=active`, { token });
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
});

test("the status accepts only GET, HEAD and OPTIONS", async () => {
  const response = await call("POST", PATH);
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
});

const MONTH_DAYS = 30;

/** Signs in where the session is over by now, and tells what a client would decide by. */
async function seenBy({ email, password }: TestAccount) {
  const response = await post("/api/auth/login", { email, password });
  const { token } = (await response.json()) as { token: string };
  const { status, isActive, willRenew, stale, productId, pendingProductId } = await statusOf({ token });
  return { status, isActive, willRenew, stale, productId, pendingProductId };
}

test("a year of a subscription: the status is right at every step", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const start = clock.now().getTime();
  const purchase = {
    app_user_id: ann.id,
    original_transaction_id: randomUUID(),
    product_id: "monthly",
    store: "PLAY_STORE",
  };
  let today = start;
  let period = { purchased_at_ms: start, expiration_at_ms: start + 7 * DAY_MS };

  /** Goes to a minute after midnight of a day: however slow the machine is, what ends that day has ended. */
  const onDay = (day: number) => {
    today = start + day * DAY_MS;
    clock.advance(today + 60_000 - clock.now().getTime());
  };
  const hear = (type: string, fields: Record<string, unknown> = {}) =>
    deliverOk(billingEvent(type, { ...purchase, ...period, ...fields }));
  /** A period of so many days begins today. */
  const begin = async (type: string, days: number, fields: Record<string, unknown> = {}) => {
    period = { purchased_at_ms: today, expiration_at_ms: today + days * DAY_MS };
    await hear(type, fields);
  };
  const expectAnn = async (expected: Record<string, unknown>) => expect(await seenBy(ann)).toMatchObject(expected);
  const renewing = { status: "active", isActive: true, willRenew: true, stale: false };

  await expectAnn({ status: "none", isActive: false });

  await begin("INITIAL_PURCHASE", 7, { period_type: "TRIAL", price: 0 });
  await expectAnn({ status: "trialing", isActive: true, willRenew: true, productId: "monthly" });

  onDay(7); // the renewal is due, and its event on the way
  await expectAnn({ status: "active", isActive: true, stale: true });
  await begin("RENEWAL", MONTH_DAYS, { is_trial_conversion: true });
  await expectAnn(renewing);

  onDay(37);
  await begin("RENEWAL", MONTH_DAYS);
  await expectAnn(renewing);

  onDay(66); // the card is refused, a day before the end
  const grace = { grace_period_expiration_at_ms: start + 74 * DAY_MS };
  await hear("BILLING_ISSUE", grace);
  await hear("CANCELLATION", { ...grace, cancel_reason: "BILLING_ERROR" });
  await expectAnn({ status: "active", isActive: true, willRenew: false });
  onDay(70);
  await expectAnn({ status: "grace_period", isActive: true });
  onDay(74);
  await expectAnn({ status: "billing_retry", isActive: false });
  onDay(76); // and is charged at last
  await begin("RENEWAL", MONTH_DAYS);
  await expectAnn(renewing);

  onDay(90); // a pause from the end of the period on
  await hear("SUBSCRIPTION_PAUSED", { auto_resume_at_ms: start + 136 * DAY_MS });
  await expectAnn({ status: "active", isActive: true, willRenew: false });
  onDay(106);
  await expectAnn({ status: "paused", isActive: false });
  await hear("EXPIRATION", { expiration_reason: "SUBSCRIPTION_PAUSED" });
  await expectAnn({ status: "paused", isActive: false });
  onDay(136);
  await begin("RENEWAL", MONTH_DAYS);
  await expectAnn(renewing);

  onDay(140); // another product from the next period on
  await hear("PRODUCT_CHANGE", { new_product_id: "yearly" });
  await expectAnn({ ...renewing, productId: "monthly", pendingProductId: "yearly" });

  onDay(150); // second thoughts, and third ones
  await hear("CANCELLATION", { cancel_reason: "UNSUBSCRIBE" });
  await expectAnn({ status: "canceled", isActive: true, willRenew: false });
  await hear("UNCANCELLATION", { event_timestamp_ms: clock.now().getTime() + 1 });
  await expectAnn({ ...renewing, pendingProductId: "yearly" });
  onDay(155);
  await hear("CANCELLATION", { cancel_reason: "UNSUBSCRIBE" });
  await hear("SUBSCRIPTION_EXTENDED", { expiration_at_ms: start + 170 * DAY_MS });
  onDay(169);
  await expectAnn({ status: "canceled", isActive: true });
  onDay(170);
  await expectAnn({ status: "expired", isActive: false, stale: false });
  await hear("EXPIRATION", { expiration_at_ms: start + 170 * DAY_MS, expiration_reason: "UNSUBSCRIBE" });
  await expectAnn({ status: "expired", isActive: false });

  onDay(200); // back again, for a year
  await begin("INITIAL_PURCHASE", 365, { product_id: "yearly" });
  await expectAnn({ ...renewing, productId: "yearly", pendingProductId: null });

  onDay(205); // a part of the money goes back, and the subscription goes on
  const refund = { cancel_reason: "CUSTOMER_SUPPORT", price: -59.99, product_id: "yearly" };
  await hear("CANCELLATION", refund);
  await expectAnn({ ...renewing, productId: "yearly" });
  onDay(210); // all of it goes back, and that was a mistake
  await hear("CANCELLATION", { ...refund, expiration_at_ms: today });
  await expectAnn({ status: "revoked", isActive: false, willRenew: false });
  onDay(212);
  await hear("REFUND_REVERSED", { product_id: "yearly" });
  await expectAnn({ ...renewing, productId: "yearly" });

  onDay(300); // it goes to Bob, for good
  const transferred = { transferred_from: [ann.id], transferred_to: [bob.id], app_user_id: undefined };
  await deliverOk(billingEvent("TRANSFER", { ...transferred, store: "PLAY_STORE" }));
  await expectAnn({ status: "none", isActive: false });
  expect(await seenBy(bob)).toMatchObject({ ...renewing, productId: "yearly" });

  onDay(566); // a year after: nobody says that it was renewed
  expect(await seenBy(bob)).toMatchObject({ status: "expired", isActive: false });
});
