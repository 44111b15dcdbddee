import { expect, test } from "vitest";
import type { EventFacts, PurchaseEventType } from "@/lib/subscriptions/events";
import { foldPurchase, foldSteps } from "@/lib/subscriptions/fold/fold-purchase";
import { day, event } from "@/tests/support/subscriptions/purchase-events";

const bought = event("INITIAL_PURCHASE", 0);
const renewed = event("RENEWAL", 30, { purchasedAt: day(30), expiresAt: day(60) });
const unsubscribed = event("CANCELLATION", 5, { cancelReason: "UNSUBSCRIBE" });
const refunded = event("CANCELLATION", 6, { cancelReason: "CUSTOMER_SUPPORT" });
const unpaid = event("BILLING_ISSUE", 29, { gracePeriodEndsAt: day(46) });
const paused = event("SUBSCRIPTION_PAUSED", 7, { resumesAt: day(90) });
const ended = event("EXPIRATION", 31, { expirationReason: "UNSUBSCRIBE" });

test("a renewal opens the next period and clears all that went wrong in the last one", () => {
  const change = event("PRODUCT_CHANGE", 8, { newProductId: "yearly" });
  const state = foldPurchase([bought, unsubscribed, refunded, paused, change, unpaid, ended, renewed]);
  expect(state).toEqual({ ...foldPurchase([bought, renewed]), lastEventAt: day(31) });
  expect(state).toMatchObject({ startedAt: day(0), currentPeriodStartsAt: day(30), currentPeriodEndsAt: day(60) });
});

test("a renewal without a period type is an ordinary one, also after a trial", () => {
  const trial = event("INITIAL_PURCHASE", 0, { periodType: "TRIAL" });
  expect(foldPurchase([trial, { ...renewed, periodType: null }]).periodType).toBe("NORMAL");
});

test("a renewal that says nothing of entitlements keeps them, and one for a product without any takes them away", () => {
  expect(foldPurchase([bought, { ...renewed, entitlementIds: null }]).entitlementIds).toEqual(["pro"]);
  expect(foldPurchase([bought, { ...renewed, entitlementIds: [] }]).entitlementIds).toEqual([]);
});

test("a purchase is shared with the family as long as the last event that says it says so", () => {
  const isShared = (...said: (boolean | null)[]) =>
    foldPurchase(said.map((isFamilyShare, i) => event("RENEWAL", 30 * i, { purchasedAt: day(30 * i), isFamilyShare })))
      .isFamilyShare;
  expect([isShared(null), isShared(true), isShared(true, null), isShared(false, true), isShared(true, false)]).toEqual([
    false,
    true,
    true,
    true,
    false,
  ]);
});

test.each<PurchaseEventType>([
  ...(["UNCANCELLATION", "SUBSCRIPTION_PAUSED", "SUBSCRIPTION_EXTENDED", "BILLING_ISSUE"] as const),
  ...(["CANCELLATION", "EXPIRATION", "REFUND_REVERSED"] as const),
])("where a renewal was lost, the next %s brings its period, product and entitlements along", (type) => {
  const next = { purchasedAt: day(30), expiresAt: day(60), productId: "yearly", entitlementIds: ["pro", "cloud"] };
  expect(foldPurchase([bought, unsubscribed, unpaid, ended, event(type, 35, next)])).toMatchObject({
    productId: "yearly",
    entitlementIds: ["pro", "cloud"],
    startedAt: day(0),
    currentPeriodStartsAt: day(30),
    currentPeriodEndsAt: day(60),
    gracePeriodEndsAt: null,
    endedAt: type === "EXPIRATION" ? day(35) : null,
    unsubscribedAt: type === "CANCELLATION" ? day(35) : null,
    billingIssueDetectedAt: type === "BILLING_ISSUE" ? day(35) : null,
  });
});

test("the first event of a period whose own was missed is said to be so", () => {
  const next = event("CANCELLATION", 35, { purchasedAt: day(30), expiresAt: day(60) });
  const steps = foldSteps([bought, unsubscribed, next]);
  expect(steps.map(({ event: { id }, isPeriodMissed }) => [id, isPeriodMissed])).toEqual([
    ["INITIAL_PURCHASE-0", false],
    ["CANCELLATION-5", false],
    ["CANCELLATION-35", true],
  ]);
  expect(steps.map(({ before }) => before)).toEqual([null, steps[0]?.after, steps[1]?.after]);
  expect(foldSteps([])).toEqual([]);
});

test("events that name no period are of the same one", () => {
  const [first, second] = [unsubscribed, unpaid].map((one) => ({ ...one, purchasedAt: null }));
  expect(first && second && foldPurchase([first, second])).toMatchObject({ unsubscribedAt: day(5) });
});

test("a later event of a one-time purchase leaves it one", () => {
  const facts = { expiresAt: null, periodType: null };
  const next = event("CANCELLATION", 35, { ...facts, purchasedAt: day(30), cancelReason: "CUSTOMER_SUPPORT" });
  expect(foldPurchase([event("NON_RENEWING_PURCHASE", 0, facts), next])).toMatchObject({
    periodType: null,
    isLifetime: true,
    endedAt: day(35),
  });
});

test("the download of the app that a purchase is of is the last one that an event names", () => {
  const named = (...ids: (string | null)[]) =>
    foldPurchase(ids.map((appTransactionId, i) => event("CANCELLATION", i, { appTransactionId }))).appTransactionId;
  expect([named(null), named("a"), named("a", null), named("a", "b")]).toEqual([null, "a", "a", "b"]);
});

test("a product change of a later period leaves the known one as it is", () => {
  const change = event("PRODUCT_CHANGE", 35, { purchasedAt: day(30), expiresAt: day(60), newProductId: "yearly" });
  expect(foldPurchase([bought, change])).toMatchObject({ currentPeriodEndsAt: day(30), pendingProductId: "yearly" });
});

test.each<PurchaseEventType>(["UNCANCELLATION", "SUBSCRIPTION_PAUSED", "CANCELLATION"])(
  "where an extension was lost, the next %s says until when there is access",
  (type) => {
    expect(foldPurchase([bought, event(type, 9, { expiresAt: day(37) })]).currentPeriodEndsAt).toEqual(day(37));
    expect(foldPurchase([bought, event(type, 9, { expiresAt: day(8) })]).currentPeriodEndsAt).toEqual(day(8));
  },
);

test("unsubscribing keeps the period, and un-canceling takes it and a pause back", () => {
  expect(foldPurchase([bought, unsubscribed, paused])).toMatchObject({
    unsubscribedAt: day(5),
    cancelReason: "UNSUBSCRIBE",
    pausedAt: day(7),
    resumesAt: day(90),
    currentPeriodEndsAt: day(30),
    refundedAt: null,
  });
  expect(foldPurchase([bought, unsubscribed, paused, event("UNCANCELLATION", 8)])).toMatchObject({
    unsubscribedAt: null,
    cancelReason: null,
    pausedAt: null,
    resumesAt: null,
  });
});

test.each([
  ["the reason is customer support", { cancelReason: "CUSTOMER_SUPPORT" }],
  ["the price is negative, whatever the reason", { cancelReason: "UNSUBSCRIBE", isRefund: true }],
])("a cancellation is a refund where %s", (_, facts) => {
  expect(foldPurchase([bought, event("CANCELLATION", 6, facts)])).toMatchObject({
    refundedAt: day(6),
    unsubscribedAt: null,
  });
});

test("a refund revokes where the expiry that comes with it is past or absent, and else leaves access until then", () => {
  const refund = (expiresAt: Date | null) => foldPurchase([bought, { ...refunded, expiresAt }]);
  expect(refund(day(5))).toMatchObject({ refundedAt: day(6), endedAt: day(5) });
  expect(refund(null)).toMatchObject({ refundedAt: day(6), endedAt: day(6) });
  expect(refund(day(20))).toMatchObject({ refundedAt: day(6), endedAt: null, currentPeriodEndsAt: day(20) });
});

test.each([
  ["a lifetime purchase", { expiresAt: null }],
  ["a purchase that does not renew", { expiresAt: day(90) }],
  ["a lifetime grant", { expiresAt: null, periodType: "PROMOTIONAL" }],
])("%s ends with its refund, with its removal, and by an expiration", (_, facts) => {
  const once = event("NON_RENEWING_PURCHASE", 0, facts);
  const taken = (type: PurchaseEventType, more: Partial<EventFacts>) =>
    foldPurchase([once, event(type, 6, { ...facts, ...more })]).endedAt;
  expect(taken("CANCELLATION", { cancelReason: "CUSTOMER_SUPPORT" })).toEqual(day(6));
  expect(taken("CANCELLATION", { cancelReason: "DEVELOPER_INITIATED" })).toEqual(day(6));
  expect(taken("CANCELLATION", { cancelReason: "DEVELOPER_INITIATED", expiresAt: day(5) })).toEqual(day(5));
  expect(taken("EXPIRATION", {})).toEqual(day(6));
});

test("a grant whose purchase was missed ends with its removal too", () => {
  const removed = event("CANCELLATION", 6, { periodType: "PROMOTIONAL", cancelReason: "DEVELOPER_INITIATED" });
  expect(foldPurchase([removed]).endedAt).toEqual(day(6));
});

test("a cancellation ends at once what either event calls a grant", () => {
  const removed = (before: string, after: string | null) =>
    foldPurchase([
      event("INITIAL_PURCHASE", 0, { periodType: before }),
      event("CANCELLATION", 6, { periodType: after, cancelReason: "DEVELOPER_INITIATED" }),
    ]).endedAt;
  expect([removed("PROMOTIONAL", null), removed("NORMAL", "PROMOTIONAL"), removed("NORMAL", "NORMAL")]).toEqual([
    day(6),
    day(6),
    null,
  ]);
});

test("a lifetime purchase whose refund is reversed is for life, also where only that is known", () => {
  const back = event("REFUND_REVERSED", 9, { expiresAt: null });
  const once = event("NON_RENEWING_PURCHASE", 0, { expiresAt: null });
  for (const events of [
    [once, { ...refunded, expiresAt: null }, back],
    [{ ...refunded, expiresAt: null }, back],
  ]) {
    expect(foldPurchase(events)).toMatchObject({ isLifetime: true, endedAt: null, refundedAt: null });
  }
});

test("a refund of an earlier period does not touch the one that was paid for since", () => {
  expect(foldPurchase([bought, renewed, { ...refunded, occurredAt: day(35) }]).refundedAt).toBeNull();
});

test("a reversed refund restores the purchase with the expiry in the event", () => {
  const state = foldPurchase([bought, refunded, ended, event("REFUND_REVERSED", 32, { expiresAt: day(40) })]);
  expect(state).toMatchObject({
    refundedAt: null,
    endedAt: null,
    cancelReason: null,
    expirationReason: null,
    currentPeriodEndsAt: day(40),
  });
});

test("a failed charge is a billing issue and no cancellation", () => {
  const failed = event("CANCELLATION", 29, { cancelReason: "BILLING_ERROR" });
  expect(foldPurchase([bought, unpaid, failed])).toMatchObject({
    billingIssueDetectedAt: day(29),
    gracePeriodEndsAt: day(46),
    unsubscribedAt: null,
    cancelReason: null,
  });
});

test("a failed charge is a grace period where only its cancellation came, with an expiry beyond the known end", () => {
  const failed = { cancelReason: "BILLING_ERROR", expiresAt: day(46) };
  const expected = { currentPeriodEndsAt: day(30), gracePeriodEndsAt: day(46), billingIssueDetectedAt: day(30) };
  expect(foldPurchase([bought, event("CANCELLATION", 30, failed)])).toMatchObject(expected);
});

test("a product change only sets the pending product", () => {
  const change = event("PRODUCT_CHANGE", 8, { newProductId: "yearly", expiresAt: day(400), entitlementIds: ["all"] });
  expect(foldPurchase([bought, change])).toEqual({
    ...foldPurchase([bought]),
    pendingProductId: "yearly",
    lastEventAt: day(8),
  });
});

test("a product change back to the product that the purchase has leaves nothing to come", () => {
  const change = event("PRODUCT_CHANGE", 8, { newProductId: "yearly" });
  expect(
    foldPurchase([bought, change, event("PRODUCT_CHANGE", 9, { newProductId: "monthly" })]).pendingProductId,
  ).toBeNull();
});

test("on Google Play an immediate change names no product: the next purchase takes this one's place", () => {
  expect(foldPurchase([bought, event("PRODUCT_CHANGE", 8)]).isReplaceable).toBe(true);
  expect(foldPurchase([bought, event("PRODUCT_CHANGE", 8), renewed]).isReplaceable).toBe(false);
});

const granted = event("TEMPORARY_ENTITLEMENT_GRANT", 0, { expiresAt: day(3), periodType: null });

test("a temporary grant lasts a day at most, and an expiration takes it back", () => {
  expect(foldPurchase([granted])).toMatchObject({ currentPeriodEndsAt: day(1), periodType: null, isReplaceable: true });
  const taken = { ...ended, occurredAt: day(0.5), expiresAt: day(0.5) };
  expect(foldPurchase([granted, taken])).toMatchObject({ endedAt: day(0.5) });
});

test("the validated purchase replaces a temporary grant, even where the store dates it before the grant", () => {
  for (const purchasedAt of [day(-0.1), day(0), day(0.1)]) {
    const purchase = { ...bought, occurredAt: day(0.2), purchasedAt };
    expect(foldPurchase([purchase, granted])).toEqual(foldPurchase([purchase]));
    expect(foldPurchase([{ ...refunded, purchasedAt, expiresAt: null }, purchase, granted]).endedAt).toEqual(day(6));
  }
});

test("an event of the validated purchase replaces a temporary grant where that purchase was missed", () => {
  expect(foldPurchase([granted, unsubscribed])).toMatchObject({
    periodType: "NORMAL",
    currentPeriodEndsAt: day(30),
    endedAt: null,
    isReplaceable: false,
  });
});

test("an expiration ends the purchase at the time it names, with its reason", () => {
  expect(foldPurchase([bought, ended])).toMatchObject({ endedAt: day(30), expirationReason: "UNSUBSCRIBE" });
});

test("a one-time purchase is for life where it has entitlements and no end", () => {
  const once = (facts: Partial<EventFacts>) => foldPurchase([event("NON_RENEWING_PURCHASE", 0, facts)]);
  expect(once({ expiresAt: null })).toMatchObject({ isLifetime: true, periodType: null, currentPeriodEndsAt: null });
  expect(once({ expiresAt: day(7) })).toMatchObject({ isLifetime: false, currentPeriodEndsAt: day(7) });
  expect(once({ expiresAt: null, entitlementIds: null }).isLifetime).toBe(false);
});

test("a purchase whose purchase was missed starts from what its first event says", () => {
  expect(foldPurchase([unsubscribed])).toMatchObject({
    productId: "monthly",
    entitlementIds: ["pro"],
    currentPeriodEndsAt: day(30),
    unsubscribedAt: day(5),
  });
});

test("events of the same time are sorted by rank: an expiration follows a renewal", () => {
  const all = [event("EXPIRATION", 0), event("CANCELLATION", 0), event("RENEWAL", 0), event("INITIAL_PURCHASE", 0)];
  expect(foldPurchase(all)).toMatchObject({ endedAt: day(0), unsubscribedAt: day(0) });
});

test("a one-time purchase whose event is made after that of its refund or end stays refunded or ended", () => {
  const once = event("NON_RENEWING_PURCHASE", 7, { expiresAt: null });
  const over = { expiresAt: null, periodType: null };
  expect(foldPurchase([event("CANCELLATION", 6, { ...over, isRefund: true }), once])).toMatchObject({
    isLifetime: true,
    refundedAt: day(6),
    endedAt: day(6),
  });
  expect(foldPurchase([event("EXPIRATION", 6, over), once])).toMatchObject({ isLifetime: true, endedAt: day(6) });
});

test("a reversed refund of which only that is known is of a one-time purchase, unless it has an expiry", () => {
  const back = (expiresAt: Date | null) => event("REFUND_REVERSED", 9, { expiresAt, entitlementIds: [] });
  expect(foldPurchase([back(null)])).toMatchObject({ periodType: null, isLifetime: false });
  expect(foldPurchase([back(day(30))])).toMatchObject({ periodType: "NORMAL", isLifetime: false });
});

const over = { unsubscribedAt: null, billingIssueDetectedAt: null, refundedAt: null, endedAt: day(30) };
const snapshotTooEarly = event("SNAPSHOT", 31, { snapshot: over });

test.each([
  ["an extension", event("SUBSCRIPTION_EXTENDED", 32, { expiresAt: day(37) }), { currentPeriodEndsAt: day(37) }],
  ["a grace period", event("BILLING_ISSUE", 32, { gracePeriodEndsAt: day(46) }), { gracePeriodEndsAt: day(46) }],
  [
    "a grace period as the expiry",
    event("CANCELLATION", 32, { cancelReason: "BILLING_ERROR", expiresAt: day(46) }),
    { gracePeriodEndsAt: day(46) },
  ],
])("%s that arrives after a reconciliation restores access, but not after a refund", (_, late, until) => {
  expect(foldPurchase([bought, snapshotTooEarly]).endedAt).toEqual(day(30));
  expect(foldPurchase([late, snapshotTooEarly, bought])).toMatchObject({ ...until, endedAt: null });
  const revoked = event("CANCELLATION", 31, { isRefund: true, expiresAt: day(31) });
  expect(foldPurchase([bought, revoked, late])).toMatchObject({ refundedAt: day(31), endedAt: day(31) });
});

test("an extension that is over when it is made restores no access", () => {
  for (const until of [31.5, 32]) {
    const late = event("SUBSCRIPTION_EXTENDED", 32, { expiresAt: day(until) });
    expect(foldPurchase([bought, snapshotTooEarly, late]).endedAt).toEqual(day(30));
  }
});

test("a failed charge of a subscription whose end is not known says the end, not a grace period", () => {
  const unknown = event("INITIAL_PURCHASE", 0, { expiresAt: null });
  expect(foldPurchase([unknown, event("BILLING_ISSUE", 29, { expiresAt: day(46) })])).toMatchObject({
    currentPeriodEndsAt: day(46),
    gracePeriodEndsAt: null,
  });
});

test("a reversed refund is of a subscription, if either event has an expiry", () => {
  const restored = (before: Date | null, after: Date | null) => {
    const purchase = event("INITIAL_PURCHASE", 0, { expiresAt: before });
    const back = event("REFUND_REVERSED", 9, { expiresAt: after });
    const { periodType, isLifetime } = foldPurchase([purchase, { ...refunded, expiresAt: null }, back]);
    return [periodType, isLifetime];
  };
  expect([restored(day(30), null), restored(null, day(30)), restored(null, null)]).toEqual([
    ["NORMAL", false],
    ["NORMAL", false],
    [null, true],
  ]);
});

test("what was paused and then canceled, or ended for another reason, does not resume", () => {
  expect(foldPurchase([bought, paused])).toMatchObject({ resumesAt: day(90) });
  const canceled = event("CANCELLATION", 8, { cancelReason: "UNSUBSCRIBE" });
  expect(foldPurchase([bought, paused, canceled])).toMatchObject({ pausedAt: null, resumesAt: null });
  expect(foldPurchase([bought, paused, ended])).toMatchObject({ pausedAt: null, resumesAt: null });
  expect(foldPurchase([bought, paused, event("EXPIRATION", 31)])).toMatchObject({ resumesAt: day(90) });
  const byPause = event("EXPIRATION", 31, { expirationReason: "SUBSCRIPTION_PAUSED" });
  expect(foldPurchase([bought, paused, byPause])).toMatchObject({ resumesAt: day(90) });
});
