import { expect, test } from "vitest";
import type { EventFacts, LineEvent, LineEventType } from "@/lib/subscriptions/events";
import { foldLine } from "@/lib/subscriptions/fold";

const START = Date.UTC(2026, 0, 1);
const DAY_MS = 24 * 60 * 60 * 1000;
const day = (n: number) => new Date(START + n * DAY_MS);

/** An event on a day, of the period that began on day 0 and ends on day 30 unless `facts` say otherwise. */
function event(
  type: LineEventType,
  onDay: number,
  facts: Partial<EventFacts> = {},
  id = `${type}-${onDay}`,
): LineEvent {
  return {
    id,
    type,
    occurredAt: day(onDay),
    purchasedAt: day(0),
    expiresAt: day(30),
    gracePeriodEndsAt: null,
    resumesAt: null,
    productId: "monthly",
    newProductId: null,
    entitlementIds: ["pro"],
    periodType: "NORMAL",
    isFamilyShare: false,
    cancelReason: null,
    expirationReason: null,
    isRefund: false,
    identityChange: null,
    snapshot: null,
    ...facts,
  };
}

const bought = event("INITIAL_PURCHASE", 0);
const renewed = event("RENEWAL", 30, { purchasedAt: day(30), expiresAt: day(60) });
const unsubscribed = event("CANCELLATION", 5, { cancelReason: "UNSUBSCRIBE" });
const refunded = event("CANCELLATION", 6, { cancelReason: "CUSTOMER_SUPPORT" });
const unpaid = event("BILLING_ISSUE", 29, { gracePeriodEndsAt: day(46) });
const paused = event("SUBSCRIPTION_PAUSED", 7, { resumesAt: day(90) });
const ended = event("EXPIRATION", 31, { expirationReason: "UNSUBSCRIBE" });

test("a purchase opens a period with its product, its entitlements and its kind", () => {
  expect(foldLine([event("INITIAL_PURCHASE", 0, { periodType: "TRIAL" })])).toMatchObject({
    productId: "monthly",
    entitlementIds: ["pro"],
    periodType: "TRIAL",
    startedAt: day(0),
    currentPeriodStartsAt: day(0),
    currentPeriodEndsAt: day(30),
    isLifetime: false,
    lastEventAt: day(0),
  });
});

test("a renewal opens the next period and clears all that went wrong in the last one", () => {
  const change = event("PRODUCT_CHANGE", 8, { newProductId: "yearly" });
  const state = foldLine([bought, unsubscribed, refunded, paused, change, unpaid, ended, renewed]);
  expect(state).toEqual({ ...foldLine([bought, renewed]), lastEventAt: day(31) });
  expect(state).toMatchObject({ startedAt: day(0), currentPeriodStartsAt: day(30), currentPeriodEndsAt: day(60) });
});

test("a renewal without a period type is an ordinary one, also after a trial", () => {
  const trial = event("INITIAL_PURCHASE", 0, { periodType: "TRIAL" });
  expect(foldLine([trial, { ...renewed, periodType: null }]).periodType).toBe("NORMAL");
});

test("a renewal that names no entitlements keeps them, unless it is for another product", () => {
  expect(foldLine([bought, { ...renewed, entitlementIds: null }]).entitlementIds).toEqual(["pro"]);
  expect(foldLine([bought, { ...renewed, entitlementIds: null, productId: "basic" }]).entitlementIds).toEqual([]);
});

test("unsubscribing keeps the period, and un-cancelling takes it and a pause back", () => {
  const state = foldLine([bought, unsubscribed, paused]);
  expect(state).toMatchObject({
    unsubscribedAt: day(5),
    cancelReason: "UNSUBSCRIBE",
    pausedAt: day(7),
    resumesAt: day(90),
    currentPeriodEndsAt: day(30),
    refundedAt: null,
  });
  expect(foldLine([bought, unsubscribed, paused, event("UNCANCELLATION", 8)])).toMatchObject({
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
  expect(foldLine([bought, event("CANCELLATION", 6, facts)])).toMatchObject({
    refundedAt: day(6),
    unsubscribedAt: null,
  });
});

test("a refund of an earlier period does not touch the one that was paid for since", () => {
  expect(foldLine([bought, renewed, { ...refunded, occurredAt: day(35) }]).refundedAt).toBeNull();
});

test("a reversed refund gives the line back, with the expiry that it names", () => {
  const state = foldLine([bought, refunded, ended, event("REFUND_REVERSED", 32, { expiresAt: day(40) })]);
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
  expect(foldLine([bought, unpaid, failed])).toMatchObject({
    billingIssueDetectedAt: day(29),
    gracePeriodEndsAt: day(46),
    unsubscribedAt: null,
    cancelReason: null,
  });
});

test("a product change only names what comes next", () => {
  const change = event("PRODUCT_CHANGE", 8, { newProductId: "yearly", expiresAt: day(400), entitlementIds: ["all"] });
  expect(foldLine([bought, change])).toEqual({
    ...foldLine([bought]),
    pendingProductId: "yearly",
    lastEventAt: day(8),
  });
});

test("a product change back to the product that the line has leaves nothing to come", () => {
  const change = event("PRODUCT_CHANGE", 8, { newProductId: "yearly" });
  expect(
    foldLine([bought, change, event("PRODUCT_CHANGE", 9, { newProductId: "monthly" })]).pendingProductId,
  ).toBeNull();
});

test("an extension moves the end", () => {
  expect(foldLine([bought, event("SUBSCRIPTION_EXTENDED", 9, { expiresAt: day(37) })]).currentPeriodEndsAt).toEqual(
    day(37),
  );
});

test("an expiration ends the line at the time it names, with its reason", () => {
  expect(foldLine([bought, ended])).toMatchObject({ endedAt: day(30), expirationReason: "UNSUBSCRIBE" });
});

test("a one-time purchase is for life where it has entitlements and no end", () => {
  const once = (facts: Partial<EventFacts>) => foldLine([event("NON_RENEWING_PURCHASE", 0, facts)]);
  expect(once({ expiresAt: null })).toMatchObject({ isLifetime: true, periodType: null, currentPeriodEndsAt: null });
  expect(once({ expiresAt: day(7) })).toMatchObject({ isLifetime: false, currentPeriodEndsAt: day(7) });
  expect(once({ expiresAt: null, entitlementIds: null }).isLifetime).toBe(false);
});

test("a line whose purchase was missed starts from what its first event says", () => {
  expect(foldLine([unsubscribed])).toMatchObject({
    productId: "monthly",
    entitlementIds: ["pro"],
    currentPeriodEndsAt: day(30),
    unsubscribedAt: day(5),
  });
});

test("events of one moment go by their rank: what ends a line comes after what renews it", () => {
  const all = [event("EXPIRATION", 0), event("CANCELLATION", 0), event("RENEWAL", 0), event("INITIAL_PURCHASE", 0)];
  expect(foldLine(all)).toMatchObject({ endedAt: day(0), unsubscribedAt: day(0) });
});

test("neither the order of arrival nor a duplicate changes the result", () => {
  const story = [
    [bought, unsubscribed, paused, event("UNCANCELLATION", 8), unpaid, renewed],
    [bought, refunded, ended, event("REFUND_REVERSED", 31), event("PRODUCT_CHANGE", 31, { newProductId: "x" })],
    [
      event("RENEWAL", 3, {}, "b"),
      event("RENEWAL", 3, { productId: "other", entitlementIds: ["a"] }, "a"),
      unsubscribed,
    ],
  ];
  for (const events of story) {
    const expected = foldLine(events);
    for (const order of permutations(events)) expect(foldLine([...order, ...order.slice(0, 2)])).toEqual(expected);
  }
});

test("a line without events is empty", () => {
  expect(foldLine([])).toMatchObject({ productId: null, lastEventAt: null, entitlementIds: [] });
});

function permutations<T>(items: T[]): T[][] {
  if (items.length < 2) return [items];
  return items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}
