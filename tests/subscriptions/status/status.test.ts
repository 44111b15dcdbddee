import { describe, expect, test } from "vitest";
import { statusRules } from "@/lib/subscriptions/entitlement-rules";
import { foldPurchase } from "@/lib/subscriptions/fold/fold-purchase";
import { STRIPE_ENTITLEMENTS } from "@/lib/subscriptions/providers/stripe";
import type { Purchase } from "@/lib/subscriptions/purchase-state";
import { accountStatus } from "@/lib/subscriptions/status/account-status";
import { accessOf, isConsumable, isRenewalOverdue, purchaseStatus } from "@/lib/subscriptions/status/purchase-status";

const RULES = { staleLeewaySeconds: 3600, isSandboxEntitled: false, managementUrls: new Map() };
const at = (iso: string) => new Date(`2026-${iso}Z`);
const ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b21";
const NOW = at("06-15T12:00:00");
const PAST = at("06-15T11:59:00");
const LONG_PAST = at("05-01T00:00:00");
const AHEAD = at("07-01T00:00:00");

/** A monthly subscription in production that ends in July. */
const purchase = (parts: Partial<Purchase> = {}): Purchase => ({
  ...foldPurchase([]),
  id: ID,
  provider: "revenuecat",
  store: "APP_STORE",
  environment: "PRODUCTION",
  productId: "monthly",
  entitlementIds: ["pro"],
  periodType: "NORMAL",
  currentPeriodEndsAt: AHEAD,
  lastEventAt: PAST,
  ...parts,
});
const daysAgo = (days: number) => new Date(NOW.getTime() - days * 24 * 60 * 60 * 1000);
const UNPAID = { endedAt: PAST, expirationReason: "BILLING_ERROR" };
const judge = (parts: Partial<Purchase>) => purchaseStatus(purchase(parts), NOW, RULES);

test.each<[string, Partial<Purchase>, string]>([
  ["a refund that revokes, even what is for life", { refundedAt: PAST, endedAt: PAST, isLifetime: true }, "revoked"],
  ["a refund that revokes with the end ahead", { refundedAt: PAST, endedAt: PAST }, "revoked"],
  ["a lifetime grant that was removed", { endedAt: PAST, isLifetime: true, currentPeriodEndsAt: null }, "expired"],
  ["an end after a refund that did not revoke", { refundedAt: LONG_PAST, endedAt: PAST }, "expired"],
  ["an end after a pause", { endedAt: PAST, expirationReason: "SUBSCRIPTION_PAUSED" }, "paused"],
  ["an end by customer support", { endedAt: PAST, expirationReason: "CUSTOMER_SUPPORT" }, "revoked"],
  ["an end for any other reason", { endedAt: PAST, expirationReason: "PRICE_INCREASE" }, "expired"],
  ["an end by a charge that the store retries", { ...UNPAID, currentPeriodEndsAt: PAST }, "billing_retry"],
  ["the same, 59 days after its period", { ...UNPAID, currentPeriodEndsAt: daysAgo(59) }, "billing_retry"],
  ["the same, 60 days after its period", { ...UNPAID, currentPeriodEndsAt: daysAgo(60) }, "expired"],
  ["the same in the Mac App Store", { ...UNPAID, store: "MAC_APP_STORE" }, "billing_retry"],
  ["the same on Google Play", { ...UNPAID, store: "PLAY_STORE" }, "billing_retry"],
  ["the same in a store that does not retry", { ...UNPAID, store: "STRIPE" }, "expired"],
  ["the same as Apple reports the end of its retries", { ...UNPAID, provider: "app-store" }, "expired"],
  ["an end without a reason", { endedAt: PAST }, "expired"],
  ["a failed charge past the end", { currentPeriodEndsAt: PAST, billingIssueDetectedAt: PAST }, "billing_retry"],
  [
    "a failed charge past its grace",
    { currentPeriodEndsAt: LONG_PAST, billingIssueDetectedAt: LONG_PAST, gracePeriodEndsAt: PAST },
    "billing_retry",
  ],
  [
    "a failed charge at the end of its grace",
    { currentPeriodEndsAt: PAST, billingIssueDetectedAt: PAST, gracePeriodEndsAt: NOW },
    "billing_retry",
  ],
  ["a pause that has begun", { currentPeriodEndsAt: PAST, pausedAt: LONG_PAST }, "paused"],
  ["an unsubscribed purchase past its end", { currentPeriodEndsAt: PAST, unsubscribedAt: LONG_PAST }, "expired"],
  ["a prepaid period past its end", { currentPeriodEndsAt: PAST, periodType: "PREPAID" }, "expired"],
  ["a one-time purchase past its end", { currentPeriodEndsAt: PAST, periodType: null }, "expired"],
  ["a renewal without an event for long", { currentPeriodEndsAt: LONG_PAST }, "expired"],
  ["an end that nobody knows", { currentPeriodEndsAt: null }, "expired"],
])("no access: %s", (_, parts, status) => {
  expect(judge(parts)).toMatchObject({
    status,
    isActive: false,
    willRenew: false,
    stale: false,
    entitlements: [{ id: "pro", isActive: false }],
  });
});

test.each<[string, Partial<Purchase>, string, boolean]>([
  ["a running subscription", {}, "active", true],
  ["a trial", { periodType: "TRIAL" }, "trialing", true],
  ["an introductory period", { periodType: "INTRO" }, "active", true],
  ["an unsubscribed purchase before its end", { unsubscribedAt: PAST }, "canceled", false],
  ["an unsubscribed trial before its end", { unsubscribedAt: PAST, periodType: "TRIAL" }, "canceled", false],
  ["a failed charge before the end", { billingIssueDetectedAt: PAST }, "active", false],
  [
    "a failed charge before the end of a trial",
    { billingIssueDetectedAt: PAST, periodType: "TRIAL" },
    "trialing",
    false,
  ],
  ["a refund that did not revoke", { refundedAt: PAST }, "active", true],
  [
    "a failed charge within its grace",
    { currentPeriodEndsAt: PAST, billingIssueDetectedAt: PAST, gracePeriodEndsAt: AHEAD },
    "grace_period",
    false,
  ],
  ["a pause still to come", { pausedAt: PAST, resumesAt: AHEAD }, "active", false],
  ["a one-time purchase before its end", { periodType: null }, "active", false],
  ["a prepaid period", { periodType: "PREPAID" }, "active", false],
  ["a promotional period", { periodType: "PROMOTIONAL" }, "active", false],
  ["a promotional grant", { store: "PROMOTIONAL" }, "active", false],
])("access: %s", (_, parts, status, willRenew) => {
  expect(judge(parts)).toMatchObject({
    status,
    isActive: true,
    willRenew,
    stale: false,
    accessEndsAt: AHEAD,
    entitlements: [
      { id: "pro", isActive: true, expiresAt: AHEAD, productId: "monthly", store: "APP_STORE", ...storeOf(parts) },
    ],
  });
});

test("a lifetime purchase is active without an end", () => {
  const bought = { isLifetime: true, periodType: null, currentPeriodEndsAt: null };
  expect(judge({ ...bought, currentPeriodEndsAt: AHEAD }).accessEndsAt).toBeNull();
  expect(judge(bought)).toMatchObject({ status: "active", isActive: true, willRenew: false, accessEndsAt: null });
});

test("a renewal that is due stays active for the leeway, and says that it is stale", () => {
  const due = purchase({ currentPeriodEndsAt: at("06-15T12:00:00") });
  const status = (time: string) => {
    const { status, stale, isActive } = purchaseStatus(due, at(time), RULES);
    return { status, stale, isActive };
  };
  expect(status("06-15T11:59:59.999")).toEqual({ status: "active", stale: false, isActive: true });
  expect(status("06-15T12:00:00")).toEqual({ status: "active", stale: true, isActive: true });
  expect(status("06-15T12:59:59.999")).toEqual({ status: "active", stale: true, isActive: true });
  expect(status("06-15T13:00:00")).toEqual({ status: "expired", stale: false, isActive: false });
});

test("access ends with the refund, with the grace, or with the period", () => {
  expect(judge({ refundedAt: PAST, endedAt: PAST }).accessEndsAt).toEqual(PAST);
  expect(judge({ refundedAt: PAST }).accessEndsAt).toEqual(AHEAD);
  expect(judge({ endedAt: PAST }).accessEndsAt).toEqual(PAST);
  expect(judge({ currentPeriodEndsAt: PAST }).accessEndsAt).toEqual(at("06-15T12:59:00"));
});

test("the best purchase decides: access first, then lifetime, then the latest end", () => {
  const expired = purchase({ productId: "expired", endedAt: at("06-15T11:00:00") });
  const short = purchase({ productId: "short", currentPeriodEndsAt: at("06-20T00:00:00") });
  const long = purchase({ productId: "long" });
  const lifetime = purchase({ productId: "lifetime", isLifetime: true, currentPeriodEndsAt: null });
  const best = (purchases: Purchase[]) => accountStatus(purchases, NOW, RULES).productId;
  expect(best([expired, short, long, lifetime])).toBe("lifetime");
  expect(best([expired, short, long])).toBe("long");
  expect(best([expired, short])).toBe("short");
  expect([best([lifetime, short]), best([long, short]), best([short, long, expired])]).toEqual([
    "lifetime",
    "long",
    "long",
  ]);
  expect(accountStatus([expired, short, long, lifetime], NOW, RULES).subscriptions.map((one) => one.productId)).toEqual(
    ["lifetime", "long", "short", "expired"],
  );
});

test("entitlements are the union over all purchases, each at its best", () => {
  const purchases = [
    purchase({ entitlementIds: ["pro", "cloud"], endedAt: LONG_PAST }),
    purchase({ entitlementIds: ["pro"], store: "PLAY_STORE" }),
    purchase({ entitlementIds: ["pro"], currentPeriodEndsAt: at("06-20T00:00:00") }),
  ];
  expect(accountStatus(purchases, NOW, RULES).entitlements).toMatchObject([
    { id: "cloud", isActive: false, expiresAt: LONG_PAST, productId: "monthly", store: "APP_STORE" },
    { id: "pro", isActive: true, expiresAt: AHEAD, productId: "monthly", store: "PLAY_STORE" },
  ]);
});

test("an entitlement has the state of the purchase that gives it", () => {
  const bought = purchase({
    startedAt: LONG_PAST,
    currentPeriodStartsAt: LONG_PAST,
    pendingProductId: "yearly",
    isFamilyShare: true,
  });
  expect(accountStatus([bought], NOW, RULES).entitlements).toMatchObject([
    {
      id: "pro",
      isActive: true,
      status: "active",
      willRenew: true,
      periodType: "NORMAL",
      productId: "monthly",
      store: "APP_STORE",
      startedAt: LONG_PAST,
      currentPeriodStartsAt: LONG_PAST,
      currentPeriodEndsAt: AHEAD,
      expiresAt: AHEAD,
      gracePeriodEndsAt: null,
      billingIssueDetectedAt: null,
      canceledAt: null,
      cancelReason: null,
      changesTo: { productId: "yearly", at: AHEAD },
      isSandbox: false,
      isFamilyShare: true,
      purchaseId: ID,
      managementUrl: "https://apps.apple.com/account/subscriptions",
    },
  ]);
});

test("an entitlement's purchase changes to nothing if it does not renew, and is marked if it is a test", () => {
  const entitlementOf = (parts: Partial<Purchase>) =>
    accountStatus([purchase(parts)], NOW, { ...RULES, isSandboxEntitled: true }).entitlements[0];
  expect(entitlementOf({})).toMatchObject({ changesTo: null, isSandbox: false });
  const unsubscribed = { pendingProductId: "yearly", unsubscribedAt: PAST, cancelReason: "UNSUBSCRIBE" };
  expect(entitlementOf(unsubscribed)).toMatchObject({
    status: "canceled",
    changesTo: null,
    canceledAt: PAST,
    cancelReason: "UNSUBSCRIBE",
  });
  for (const environment of ["SANDBOX", "UNKNOWN"]) {
    expect(entitlementOf({ environment })).toMatchObject({ isActive: true, isSandbox: true });
  }
});

test("a status lists no more than 20 purchases and 100 entitlements, the best ones", () => {
  const ended = Array.from({ length: 150 }, (_, i) => purchase({ entitlementIds: [`old-${i}`], endedAt: LONG_PAST }));
  const { subscriptions, entitlements } = accountStatus([...ended, purchase()], NOW, RULES);
  expect([subscriptions.length, entitlements.length]).toEqual([20, 100]);
  expect(subscriptions[0]).toMatchObject({ isActive: true });
  expect(entitlements).toContainEqual(expect.objectContaining({ id: "pro", isActive: true }));
});

/** A subscription on Google Play that was bought in June, and the one before it. */
const play = (parts: Partial<Purchase> = {}) =>
  purchase({ store: "PLAY_STORE", productId: "pro:monthly", startedAt: at("06-10T00:00:00"), ...parts });
const before = (parts: Partial<Purchase> = {}) =>
  play({
    productId: "basic:monthly",
    entitlementIds: ["basic"],
    startedAt: at("06-01T00:00:00"),
    currentPeriodStartsAt: at("06-01T00:00:00"),
    ...parts,
  });
const activeIds = (purchases: Purchase[]) =>
  accountStatus(purchases, NOW, RULES).entitlements.flatMap(({ id, isActive }) => (isActive ? id : []));

test.each<[string, Partial<Purchase>]>([
  ["after a product change that names none", { isReplaceable: true }],
  ["after a product change to it", { pendingProductId: "pro:monthly" }],
  ["after a product change to its subscription", { pendingProductId: "pro" }],
  ["as another base plan after unsubscribing", { productId: "pro:yearly", unsubscribedAt: at("06-09T00:00:00") }],
])("the purchase that took another's place on Google Play, %s, ends that one's entitlements", (_, parts) => {
  expect(activeIds([before(parts), play()])).toEqual(["pro"]);
  const [, ended] = accountStatus([before(parts), play()], NOW, RULES).subscriptions;
  expect(ended).toMatchObject({ status: "expired", isActive: false, accessEndsAt: at("06-10T00:00:00") });
  expect(activeIds([before(parts), play({ endedAt: PAST })])).toEqual([]);
});

test.each<[string, Purchase[]]>([
  ["nothing was changed", [before(), play()]],
  ["the change is still to come", [before({ pendingProductId: "plus:monthly" }), play()]],
  [
    "the other one was bought in an earlier period",
    [before({ isReplaceable: true, currentPeriodStartsAt: PAST }), play()],
  ],
  ["the store is another", [before({ isReplaceable: true }), play({ store: "APP_STORE" })]],
  ["both are in the App Store", [before({ isReplaceable: true, store: "APP_STORE" }), play({ store: "APP_STORE" })]],
  ["the other one is in the sandbox", [before({ isReplaceable: true }), play({ environment: "SANDBOX" })]],
  ["the other one was bought once", [before({ isReplaceable: true }), play({ periodType: null })]],
  ["it was bought once", [before({ periodType: null, pendingProductId: "pro" }), play()]],
  ["the other one began with its period", [before({ isReplaceable: true }), play({ startedAt: at("06-01T00:00:00") })]],
  ["the other one's beginning is not known", [before({ isReplaceable: true }), play({ startedAt: null })]],
  ["it was canceled, and the other one is another subscription", [before({ unsubscribedAt: PAST }), play()]],
  ["the change is to another subscription", [before({ pendingProductId: "plus" }), play()]],
  ["the change is to another base plan", [before({ pendingProductId: "pro:yearly" }), play()]],
  ["the other one's product is not known", [before({ pendingProductId: "pro" }), play({ productId: null })]],
])("a purchase stands beside another where %s", (_, purchases) => {
  expect(activeIds(purchases)).toContain("basic");
});

test("a purchase ends at the first of its own end and the beginnings of those that replace it, never by itself", () => {
  const endOf = (parts: Partial<Purchase>, ...others: Purchase[]) =>
    accountStatus([before({ isReplaceable: true, ...parts }), ...others], NOW, RULES).subscriptions.find(
      ({ productId }) => productId === "basic:monthly",
    )?.accessEndsAt;
  const [first, second] = [play(), play({ startedAt: at("06-12T00:00:00") })];
  expect(endOf({ endedAt: at("06-05T00:00:00") }, first)).toEqual(at("06-05T00:00:00"));
  expect(endOf({ endedAt: at("06-11T00:00:00") }, first)).toEqual(at("06-10T00:00:00"));
  expect([endOf({}, first, second), endOf({}, second, first)]).toEqual(Array(2).fill(at("06-10T00:00:00")));
  expect(endOf({ currentPeriodStartsAt: null })).toEqual(AHEAD);
});

test("a purchase takes the place of the temporary grant that stood in for it, under another transaction too", () => {
  const grant = purchase({ periodType: null, isReplaceable: true, startedAt: at("06-15T10:00:00") });
  const validated = purchase({ startedAt: at("06-15T09:59:00") });
  expect(activeIds([grant])).toEqual(["pro"]);
  expect(activeIds([grant, { ...validated, refundedAt: PAST, endedAt: PAST }])).toEqual([]);
  const started = (startedAt: Date | null, parts: Partial<Purchase> = {}) =>
    activeIds([
      { ...grant, ...parts },
      { ...validated, startedAt, endedAt: PAST },
    ]);
  expect(activeIds([grant, { ...validated, entitlementIds: ["cloud", "pro"], endedAt: PAST }])).toEqual([]);
  expect(started(at("06-14T10:00:00"))).toEqual([]); // a day before the grant
  expect(started(at("06-14T09:59:59"))).toEqual(["pro"]);
  expect(started(null)).toEqual(["pro"]);
  expect(started(LONG_PAST, { startedAt: null })).toEqual([]);
  const other = { ...validated, entitlementIds: ["cloud"], refundedAt: PAST, endedAt: PAST };
  expect(activeIds([grant, other])).toEqual(["pro"]);
});

test("a subscription is managed at its store's own page, or where the company says", () => {
  expect(judge({ store: "APP_STORE" }).managementUrl).toBe("https://apps.apple.com/account/subscriptions");
  expect(judge({ store: "MAC_APP_STORE" }).managementUrl).toBe("https://apps.apple.com/account/subscriptions");
  expect(judge({ store: "PLAY_STORE" }).managementUrl).toBe("https://play.google.com/store/account/subscriptions");
  expect(judge({ store: "constructor" }).managementUrl).toBeNull();
  expect(judge({ store: "STRIPE" }).managementUrl).toBeNull();
  const portal = "https://billing.stripe.com/p/login/example";
  const rules = { ...RULES, managementUrls: new Map([["STRIPE", portal]]) };
  expect(purchaseStatus(purchase({ store: "STRIPE" }), NOW, rules).managementUrl).toBe(portal);
});

test("an account without purchases has a status without any, and coins are no subscription", () => {
  const coins = purchase({ periodType: null, entitlementIds: [], lastEventAt: LONG_PAST });
  expect([isConsumable(coins), isConsumable(purchase({ periodType: null }))]).toEqual([true, false]);
  for (const purchases of [[], [coins]]) {
    expect(accountStatus(purchases, NOW, RULES)).toMatchObject({
      status: "none",
      isActive: false,
      purchaseId: null,
      store: null,
      environment: null,
      productId: null,
      willRenew: false,
      accessEndsAt: null,
      entitlements: [],
      subscriptions: [],
      lastEventAt: purchases[0]?.lastEventAt ?? null,
      checkedAt: NOW,
    });
  }
});

test("what a sandbox sold is listed, and counts for testers alone", () => {
  const test = purchase({ environment: "SANDBOX" });
  expect(accountStatus([test], NOW, RULES)).toMatchObject({
    status: "none",
    entitlements: [],
    subscriptions: [{ status: "active", isActive: false, entitlements: [{ id: "pro", isActive: false }] }],
  });
  expect(accountStatus([test], NOW, { ...RULES, isSandboxEntitled: true })).toMatchObject({
    status: "active",
    isActive: true,
    entitlements: [{ id: "pro", isActive: true, isSandbox: true }],
  });
  const ended = purchase({ productId: "ended", endedAt: LONG_PAST });
  expect(accountStatus([test, ended], NOW, RULES)).toMatchObject({ status: "expired", productId: "ended" });
});

test("an entitlement is the one that does not expire, else that with the latest expiry", () => {
  const expiry = (...purchases: Purchase[]) =>
    accountStatus(purchases, NOW, RULES).entitlements.map(({ isActive, expiresAt }) => [isActive, expiresAt]);
  const lifetime = purchase({ isLifetime: true, currentPeriodEndsAt: null });
  const [soon, later] = [at("06-20T00:00:00"), AHEAD].map((end) => purchase({ currentPeriodEndsAt: end }));
  expect(expiry(soon as Purchase, later as Purchase)).toEqual([[true, AHEAD]]);
  expect(expiry(soon as Purchase, lifetime, later as Purchase)).toEqual([[true, null]]);
  expect(expiry(purchase({ endedAt: LONG_PAST }), purchase({ endedAt: PAST }))).toEqual([[false, PAST]]);
  const revoked = purchase({ isLifetime: true, refundedAt: LONG_PAST, endedAt: LONG_PAST });
  expect(expiry(revoked, purchase({ endedAt: PAST }))).toEqual([[false, PAST]]);
  expect(expiry(purchase({ currentPeriodEndsAt: null }), soon as Purchase)).toEqual([[true, at("06-20T00:00:00")]]);
  const ids = accountStatus([purchase({ entitlementIds: ["pro", "cloud", "zoo"] })], NOW, RULES).entitlements;
  expect(ids.map(({ id }) => id)).toEqual(["cloud", "pro", "zoo"]);
});

test("a sandbox tester is one that the configuration lists, or all are, or an operator made the account one", () => {
  const config = {
    BILLING_MANAGEMENT_URLS: new Map([["STRIPE", "https://billing.example.com"]]),
    BILLING_PRODUCTS: new Map(),
    BILLING_SANDBOX_ENTITLES: false,
    BILLING_SANDBOX_TESTERS: ["other", ID.toUpperCase()],
    BILLING_STALE_LEEWAY_SECONDS: 60,
  };
  const isTester = (change: Partial<typeof config>, isMadeOne = false) =>
    statusRules({ ...config, ...change }, ID, isMadeOne).isSandboxEntitled;
  expect(isTester({})).toBe(true);
  expect(isTester({ BILLING_SANDBOX_TESTERS: ["other"] })).toBe(false);
  expect(isTester({ BILLING_SANDBOX_TESTERS: [] }, true)).toBe(true);
  expect(isTester({ BILLING_SANDBOX_TESTERS: [], BILLING_SANDBOX_ENTITLES: true })).toBe(true);
  expect(statusRules(config, ID, false)).toEqual({
    staleLeewaySeconds: 60,
    isSandboxEntitled: true,
    managementUrls: config.BILLING_MANAGEMENT_URLS,
  });
});

test("the newest event of any purchase is the account's", () => {
  const events = [
    purchase({ lastEventAt: PAST }),
    purchase({ lastEventAt: NOW }),
    purchase({ lastEventAt: LONG_PAST }),
  ];
  expect(accountStatus(events, NOW, RULES).lastEventAt).toEqual(NOW);
});

describe("what Stripe says that a customer has", () => {
  const stripe = (parts: Partial<Purchase> = {}) =>
    purchase({ provider: "stripe", store: "STRIPE", productId: "price", entitlementIds: [], ...parts });
  const summary = (parts: Partial<Purchase> = {}) =>
    stripe({ productId: STRIPE_ENTITLEMENTS, periodType: null, isLifetime: true, entitlementIds: ["chat"], ...parts });
  const status = (...purchases: Purchase[]) => {
    const { entitlements, subscriptions } = accountStatus(purchases, NOW, RULES);
    return [entitlements.flatMap(({ id, isActive }) => (isActive ? id : [])), subscriptions.length];
  };

  test("is what the subscriptions give that say nothing themselves", () => {
    expect(status(stripe(), summary())).toEqual([["chat"], 1]);
    expect(status(summary(), stripe(), stripe({ endedAt: PAST }))).toEqual([["chat"], 2]);
    expect(status(summary(), stripe({ endedAt: PAST }))).toEqual([[], 1]);
  });

  test("is given to no other purchase", () => {
    const others = [
      stripe({ entitlementIds: ["pro"], endedAt: PAST }),
      stripe({ provider: "paddle", entitlementIds: [] }),
    ];
    const { subscriptions } = accountStatus([summary(), stripe(), ...others], NOW, RULES);
    expect(subscriptions.map(({ entitlements }) => entitlements.map(({ id }) => id))).toEqual([["chat"], [], ["pro"]]);
  });

  test("is left out where a subscription that gives access says itself what it gives", () => {
    const mapped = stripe({ entitlementIds: ["pro"] });
    expect(status(summary(), mapped, stripe())).toEqual([["pro"], 2]);
    expect(status(summary(), { ...mapped, endedAt: PAST }, stripe())).toEqual([["chat"], 2]);
  });

  test("is of all customers of an account together", () => {
    const summaries = [summary(), summary({ entitlementIds: ["export"] }), summary({ entitlementIds: [] })];
    for (const all of [summaries, summaries.toReversed()])
      expect(status(...all, stripe(), stripe())).toEqual([["chat", "export"], 2]);
  });

  test("is a purchase of its own without a subscription of the same environment", () => {
    expect(status(summary())).toEqual([["chat"], 1]);
    expect(status(summary(), stripe({ environment: "SANDBOX" }))).toEqual([["chat"], 2]);
    expect(status(summary(), stripe({ provider: "paddle" }))).toEqual([["chat"], 2]);
    expect(status(summary(), stripe({ periodType: null, entitlementIds: ["pro"], isLifetime: true }))).toEqual([
      ["chat", "pro"],
      2,
    ]);
  });

  test("is Stripe's own word for it alone", () => {
    expect(status(summary({ provider: "paddle" }), stripe())).toEqual([["chat"], 2]);
  });
});

test("a subscription with a commitment says how much of it is paid, once all of that is known", () => {
  const known = {
    billingPeriodNumber: 3,
    totalBillingPeriods: 12,
    commitmentExpiresAt: AHEAD,
    commitmentPrice: 120_000,
    commitmentCurrency: "EUR",
    commitmentWillRenew: false,
  };
  expect(judge(known).commitment).toEqual({
    billingPeriodNumber: 3,
    totalBillingPeriods: 12,
    expiresAt: AHEAD,
    priceMilliunits: 120_000,
    currency: "EUR",
    willRenew: false,
  });
  for (const name of ["billingPeriodNumber", "totalBillingPeriods", "commitmentExpiresAt"]) {
    expect(judge({ ...known, [name]: null }).commitment).toBeNull();
  }
});

test("a refund of a part is a percentage", () => {
  expect(judge({ revocationPercentage: 12_500 }).revocationPercentage).toBe(12.5);
  expect(judge({}).revocationPercentage).toBeNull();
});

test.each<[string, Partial<Purchase>, string]>([
  ["an active subscription with entitlements", {}, "entitled"],
  ["one without any", { entitlementIds: [] }, "without_entitlement"],
  ["one of the sandbox", { environment: "SANDBOX" }, "not_counted"],
  ["one that is over", { endedAt: PAST }, "none"],
])("%s gives access: %s", (_, parts, access) => expect(accessOf(judge(parts))).toBe(access));

test.each<[string, Partial<Purchase>, boolean]>([
  ["whose period is over", { currentPeriodEndsAt: NOW }, true],
  ["whose period is not over", { currentPeriodEndsAt: new Date(NOW.getTime() + 1) }, false],
  ["whose end is not known", { currentPeriodEndsAt: null }, true],
  ["whose end is not known after a failed charge", { currentPeriodEndsAt: null, billingIssueDetectedAt: PAST }, true],
  ["that has ended", { currentPeriodEndsAt: PAST, endedAt: PAST }, false],
  ["that was canceled", { currentPeriodEndsAt: PAST, unsubscribedAt: LONG_PAST }, false],
  ["whose charge has failed", { currentPeriodEndsAt: PAST, billingIssueDetectedAt: PAST }, false],
  ["that is paused", { currentPeriodEndsAt: PAST, pausedAt: PAST }, false],
  ["that is prepaid", { currentPeriodEndsAt: PAST, periodType: "PREPAID" }, false],
  ["that is for life", { currentPeriodEndsAt: null, isLifetime: true }, false],
  ["that was bought once", { currentPeriodEndsAt: null, periodType: null }, false],
])("a renewal of a purchase %s is overdue: %s", (_, parts, isOverdue) => {
  expect(isRenewalOverdue(purchase(parts), NOW)).toBe(isOverdue);
});

function storeOf({ store }: Partial<Purchase>) {
  return store ? { store } : {};
}
