import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { createRateLimits } from "@/lib/platform/rate-limits";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx, withContext } from "@/tests/support/context";
import { DAY_MS, statusOf } from "@/tests/support/subscriptions/billing";
import { sendApple } from "@/tests/support/subscriptions/deliver-with";
import { apple, type Json, newAppleChain } from "@/tests/support/subscriptions/providers";
// From @apple/app-store-server-library's own tests (MIT), tests/resources/models; without the fields of a revocation.
import samples from "./samples/app-store.json" with { type: "json" };

const at = (days: number) => clock.now().getTime() + days * DAY_MS;

/** The samples as an account's subscription of 30 days that began yesterday. */
function subscription(accountId: string | undefined) {
  const id = randomUUID();
  const [purchaseDate, expiresDate] = [at(-1), at(29)];
  const dates = { purchaseDate, originalPurchaseDate: purchaseDate, expiresDate };
  const own = { originalTransactionId: id, transactionId: id, appAccountToken: accountId };
  return (type: string, subtype?: string, status = 1, more: { transaction?: Json; renewalInfo?: Json } = {}) => {
    clock.advance(10);
    const transaction = { ...samples.transaction, ...own, ...dates, ...more.transaction };
    const renewalInfo = { ...samples.renewalInfo, renewalDate: transaction.expiresDate, ...more.renewalInfo };
    return { type, ...(subtype && { subtype }), data: { status }, transaction, renewalInfo };
  };
}

test("a subscription is followed from its start to its refund", async () => {
  const ann = await newAccount();
  const make = subscription(ann.id.toUpperCase());
  const send = async (...given: Parameters<typeof make>) => {
    expect(await sendApple(make(...given))).toMatchObject([200, { status: "processed" }]);
    return statusOf(ann);
  };
  expect(await send("SUBSCRIBED", "INITIAL_BUY")).toMatchObject({
    status: "active",
    store: "APP_STORE",
    periodType: "INTRO",
    pendingProductId: "com.example.product.2",
    entitlements: [{ id: "pro", isActive: true }],
  });
  const off = { renewalInfo: { autoRenewStatus: 0, autoRenewProductId: "com.example.product" } };
  expect(await send("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", 1, off)).toMatchObject({
    status: "canceled",
    cancelReason: "UNSUBSCRIBE",
    pendingProductId: null,
  });
  expect(await send("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED")).toMatchObject({ status: "active" });
  const due = { transaction: { expiresDate: at(-0.5) } };
  const grace = { ...due, renewalInfo: { gracePeriodExpiresDate: at(10), isInBillingRetryPeriod: true } };
  expect(await send("DID_FAIL_TO_RENEW", "GRACE_PERIOD", 4, grace)).toMatchObject({ status: "grace_period" });
  expect(await send("GRACE_PERIOD_EXPIRED", undefined, 3, due)).toMatchObject({ status: "billing_retry" });
  expect(await send("DID_RENEW", "BILLING_RECOVERY")).toMatchObject({ status: "active" });
  const extended = { transaction: { expiresDate: at(40) } };
  expect(await send("RENEWAL_EXTENDED", undefined, 1, extended)).toMatchObject({
    currentPeriodEndsAt: new Date(extended.transaction.expiresDate).toISOString(),
  });
  const expired = { ...due, renewalInfo: { expirationIntent: 2, autoRenewStatus: 0 } };
  expect(await send("EXPIRED", "BILLING_RETRY", 2, expired)).toMatchObject({
    status: "expired",
    expirationReason: "BILLING_ERROR",
  });
  expect(await send("SUBSCRIBED", "RESUBSCRIBE")).toMatchObject({ status: "active" });
  const revoked = { transaction: { revocationDate: at(0), revocationReason: 1 } };
  expect(await send("REFUND", undefined, 5, revoked)).toMatchObject({ status: "revoked", isActive: false });
  expect(await send("REFUND_REVERSED")).toMatchObject({ status: "active", refundedAt: null });
  const earlier = { transaction: { expiresDate: at(-1), revocationDate: at(0) }, renewalInfo: { renewalDate: at(29) } };
  expect(await send("REFUND", undefined, 1, earlier)).toMatchObject({ status: "active", isActive: true });
});

test("the refund of another transaction than the newest changes neither its period nor its status", async () => {
  const ann = await newAccount();
  const make = subscription(ann.id);
  const send = async (...given: Parameters<typeof make>) => [(await sendApple(make(...given)))[1], await statusOf(ann)];
  await send("SUBSCRIBED", "INITIAL_BUY");
  const { currentPeriodEndsAt } = await statusOf(ann);
  // Before the upgrade, a yearly subscription to another product.
  const yearly = { productId: "com.example.other", expiresDate: at(300), revocationDate: at(0) };
  const replaced = { transaction: yearly, renewalInfo: { renewalDate: Date.parse(String(currentPeriodEndsAt)) } };
  expect(await send("REFUND", undefined, 1, replaced)).toMatchObject([
    { status: "processed" },
    { status: "active", productId: "com.example.product", currentPeriodEndsAt },
  ]);
  const due = { transaction: { expiresDate: at(-0.5) } };
  const grace = { gracePeriodExpiresDate: at(10), isInBillingRetryPeriod: true, renewalDate: at(-0.5) };
  await send("DID_FAIL_TO_RENEW", "GRACE_PERIOD", 4, { ...due, renewalInfo: grace });
  const earlier = { transaction: { expiresDate: at(-30), revocationDate: at(0) }, renewalInfo: grace };
  for (const type of ["REFUND", "REFUND_REVERSED"]) {
    expect(await send(type, undefined, 4, earlier)).toMatchObject([{ status: "ignored" }, { status: "grace_period" }]);
  }
});

test("a payment that fails again has a grace period of its own, although the event of the payment between is missing", async () => {
  const ann = await newAccount();
  const make = subscription(ann.id);
  const weekMs = 7 * DAY_MS;
  /** The newest transaction was paid for a week that has just ended. */
  const fail = async () => {
    const expiresDate = at(-0.5);
    const transaction = { expiresDate, purchaseDate: expiresDate - weekMs };
    const renewalInfo = { gracePeriodExpiresDate: expiresDate + 6 * DAY_MS, isInBillingRetryPeriod: true };
    const due = make("DID_FAIL_TO_RENEW", "GRACE_PERIOD", 4, { transaction, renewalInfo });
    expect(await sendApple(due)).toMatchObject([200, { status: "processed" }]);
    const state = await statusOf(ann);
    expect(state).toMatchObject({
      status: "grace_period",
      isActive: true,
      gracePeriodEndsAt: new Date(renewalInfo.gracePeriodExpiresDate).toISOString(),
    });
    return Date.parse(String(state.billingIssueDetectedAt));
  };
  await sendApple(make("SUBSCRIBED", "INITIAL_BUY"));
  const first = await fail();
  clock.advance(weekMs);
  const second = await fail();
  expect(second - first).toBeGreaterThanOrEqual(weekMs);
});

test("the refund of a subscription that has expired does not extend it", async () => {
  const ann = await newAccount();
  const make = subscription(ann.id);
  const expiresDate = at(-0.5);
  const renewalInfo = { expirationIntent: 1, autoRenewStatus: 0, renewalDate: expiresDate };
  await sendApple(make("EXPIRED", "VOLUNTARY", 2, { transaction: { expiresDate }, renewalInfo }));
  const revoked = { transaction: { expiresDate, revocationDate: at(0) }, renewalInfo };
  expect(await sendApple(make("REFUND", undefined, 5, revoked))).toMatchObject([200, { status: "processed" }]);
  const end = new Date(expiresDate).toISOString();
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", accessEndsAt: end, currentPeriodEndsAt: end });
});

test("a one-time purchase lasts until it is refunded, and again after the reversal", async () => {
  const ann = await newAccount();
  const make = subscription(ann.id);
  const once = { transaction: { type: "Non-Consumable", expiresDate: undefined } };
  const send = async (type: string, transaction: Json = {}) => {
    const { renewalInfo: _, ...given } = make(type, undefined, 1, {
      transaction: { ...once.transaction, ...transaction },
    });
    await sendApple(given);
    return statusOf(ann);
  };
  expect(await send("ONE_TIME_CHARGE")).toMatchObject({ status: "active", isLifetime: true });
  expect(await send("REFUND", { revocationDate: at(0) })).toMatchObject({ status: "revoked" });
  expect(await send("REFUND_REVERSED")).toMatchObject({ status: "active", isLifetime: true });
});

test("a prorated refund does not end access, whatever status the App Store reports", async () => {
  const ann = await newAccount();
  const make = subscription(ann.id);
  const send = async (...given: Parameters<typeof make>) => {
    expect(await sendApple(make(...given))).toMatchObject([200, { status: "processed" }]);
    return statusOf(ann);
  };
  await send("SUBSCRIBED", "INITIAL_BUY");
  const prorated = { revocationDate: at(0), revocationType: "REFUND_PRORATED", revocationPercentage: 67_932 };
  const off = { autoRenewStatus: 0 };
  for (const status of [1, 5]) {
    expect(await send("REFUND", undefined, status, { transaction: prorated, renewalInfo: off })).toMatchObject({
      status: "canceled",
      isActive: true,
      refundedAt: null,
      revocationType: "REFUND_PRORATED",
      revocationPercentage: 67.932,
    });
  }
  const whole = { ...prorated, revocationPercentage: 100_000 };
  expect(await send("REFUND", undefined, 5, { transaction: whole })).toMatchObject({ status: "revoked" });
  expect(await send("REFUND_REVERSED")).toMatchObject({
    status: "active",
    revocationType: null,
    revocationPercentage: null,
  });
  const full = { revocationDate: at(0), revocationType: "REFUND_FULL", revocationPercentage: 100_000 };
  expect(await send("REFUND", undefined, 5, { transaction: full })).toMatchObject({
    status: "revoked",
    revocationPercentage: 100,
  });
});

test("a prorated refund of an earlier period, or of a one-time purchase, leaves the purchase as it is", async () => {
  const ann = await newAccount();
  const make = subscription(ann.id);
  await sendApple(make("SUBSCRIBED", "INITIAL_BUY"));
  const prorated = { revocationDate: at(0), revocationType: "REFUND_PRORATED", revocationPercentage: 40_000 };
  const earlier = { transaction: { ...prorated, expiresDate: at(-1) }, renewalInfo: { renewalDate: at(29) } };
  expect(await sendApple(make("REFUND", undefined, 1, earlier))).toMatchObject([200, { status: "ignored" }]);
  expect(await statusOf(ann)).toMatchObject({ status: "active", revocationType: null });
  const bob = await newAccount();
  const once = { type: "Non-Consumable", expiresDate: undefined };
  const makeOnce = subscription(bob.id);
  // The event of the purchase was lost.
  const { renewalInfo: _, ...refund } = makeOnce("REFUND", undefined, 1, { transaction: { ...once, ...prorated } });
  expect(await sendApple(refund)).toMatchObject([200, { status: "processed" }]);
  expect(await statusOf(bob)).toMatchObject({ status: "active", isLifetime: true, revocationPercentage: 40 });
});

test("a monthly subscription says how far its commitment is, and renews although no other one follows", async () => {
  const ann = await newAccount();
  const make = subscription(ann.id);
  const committed = (billingPeriodNumber: number, commitmentAutoRenewStatus: number) => {
    const commitmentInfo = { billingPeriodNumber, commitmentExpiresDate: at(300), commitmentPrice: 119_990 };
    const transaction = { billingPlanType: "MONTHLY", commitmentInfo: { ...commitmentInfo, totalBillingPeriods: 12 } };
    return { transaction, renewalInfo: { commitmentInfo: { commitmentAutoRenewStatus } } };
  };
  await sendApple(make("SUBSCRIBED", "INITIAL_BUY", 1, committed(1, 1)));
  expect(await statusOf(ann)).toMatchObject({
    billingPlanType: "MONTHLY",
    commitment: {
      billingPeriodNumber: 1,
      totalBillingPeriods: 12,
      priceMilliunits: 119_990,
      currency: "USD",
      willRenew: true,
    },
  });
  await sendApple(make("DID_RENEW", undefined, 1, committed(2, 0)));
  expect(await statusOf(ann)).toMatchObject({
    status: "active",
    willRenew: true,
    commitment: { billingPeriodNumber: 2, willRenew: false },
  });
  const upfront = { transaction: { billingPlanType: "BILLED_UPFRONT" } };
  await sendApple(make("DID_RENEW", undefined, 1, upfront));
  expect(await statusOf(ann)).toMatchObject({ billingPlanType: "BILLED_UPFRONT", commitment: null });
  const absurd = {
    billingPlanType: "MONTHLY",
    commitmentInfo: { billingPeriodNumber: -1, commitmentExpiresDate: "x" },
  };
  await sendApple(make("DID_RENEW", undefined, 1, { transaction: { ...absurd, revocationPercentage: 1e9 } }));
  expect(await statusOf(ann)).toMatchObject({ status: "active", commitment: null, revocationPercentage: null });
});

test("a family member's purchase ends with a revocation, and belongs to nobody", async () => {
  const make = subscription(undefined);
  const shared = { transaction: { inAppOwnershipType: "FAMILY_SHARED" } };
  expect(await sendApple(make("SUBSCRIBED", "INITIAL_BUY", 1, shared))).toMatchObject([200, { status: "processed" }]);
  const revoked = { transaction: { ...shared.transaction, revocationDate: at(0) } };
  expect(await sendApple(make("REVOKE", undefined, 5, revoked))).toMatchObject([200, { status: "processed" }]);
});

test("the sandbox grants nothing, and a notification counts once", async () => {
  const ann = await newAccount();
  const given = subscription(ann.id)("SUBSCRIBED", "INITIAL_BUY");
  const sandbox = {
    ...given,
    uuid: randomUUID(),
    data: { ...given.data, environment: "Sandbox", appAppleId: undefined },
  };
  expect(await sendApple(sandbox)).toEqual([200, { status: "processed", eventId: sandbox.uuid }]);
  expect(await sendApple(sandbox)).toEqual([200, { status: "duplicate", eventId: sandbox.uuid }]);
  expect(await statusOf(ann)).toMatchObject({ status: "none", subscriptions: [{ environment: "SANDBOX" }] });
});

test.each(["TEST", "PRICE_INCREASE", "CONSUMPTION_REQUEST", "REFUND_DECLINED", "A_NEWER_TYPE"])(
  "%s is ignored",
  async (type) => {
    expect(await sendApple(subscription(randomUUID())(type))).toMatchObject([200, { status: "ignored" }]);
  },
);

test.each<[string, Json]>([
  ["another app", { bundleId: "com.example.other" }],
  ["another Apple ID", { appAppleId: 1 }],
  ["Xcode, which Apple does not sign", { environment: "Xcode" }],
])("a notification of %s is refused", async (_, data) => {
  const given = subscription(randomUUID())("SUBSCRIBED");
  const refused = await sendApple({ ...given, data: { ...given.data, ...data } });
  expect(refused).toMatchObject([401, { code: "webhook_unauthorized" }]);
});

test("a notification that another root has signed is refused, even if its certificates have the same names", async () => {
  const refused = await sendApple(subscription(randomUUID())("SUBSCRIBED"), newAppleChain());
  expect(refused).toMatchObject([401, { code: "webhook_unauthorized" }]);
});

const IP = "198.51.100.7";

test("forgeries that show Apple's root are limited by network; what Apple or another root has signed does not count", async () => {
  const limits = createRateLimits({ ...ctx(), pseudonymOf: ctx().limits.pseudonymOf });
  const given = subscription(randomUUID())("SUBSCRIBED");
  await withContext({ limits }, async () => {
    const [other, shown] = [newAppleChain(), newAppleChain({ shownRoot: apple.rootPem })];
    expect((await sendApple(given, other, IP))[0]).toBe(401);
    expect((await sendApple(given, apple, IP))[0]).toBe(200);
    for (let i = 0; i < 300; i++) expect((await sendApple(given, shown, IP))[0]).toBe(401);
    expect(await sendApple(given, shown, IP)).toMatchObject([429, { code: "rate_limited" }]);
    expect((await sendApple(given, other, IP))[0]).toBe(401);
  });
});
