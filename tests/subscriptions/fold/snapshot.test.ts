import { describe, expect, test } from "vitest";
import type { EventFacts, PurchaseEvent } from "@/lib/subscriptions/events";
import { foldPurchase } from "@/lib/subscriptions/fold/fold-purchase";
import { day, event } from "@/tests/support/subscriptions/purchase-events";

type Snapshot = NonNullable<EventFacts["snapshot"]>;
const CLEAN: Snapshot = { unsubscribedAt: null, billingIssueDetectedAt: null, refundedAt: null, endedAt: null };

/** What a provider's API says on a day, with the times since when it holds. */
const read = (onDay: number, snapshot: Partial<Snapshot> = {}, facts: Partial<EventFacts> = {}): PurchaseEvent =>
  event("SNAPSHOT", onDay, { snapshot: { ...CLEAN, ...snapshot }, ...facts });
/** The state that a provider delivers with an event, which says that something holds, not always since when. */
const delivered = (onDay: number, snapshot: Partial<Snapshot> = {}, facts: Partial<EventFacts> = {}): PurchaseEvent =>
  read(onDay, snapshot, {
    order: { nanoseconds: 0, receivedAt: day(onDay), state: null, replacedState: null },
    ...facts,
  });

const bought = event("INITIAL_PURCHASE", 0);
const once = event("NON_RENEWING_PURCHASE", 0, { expiresAt: null, periodType: null });
const unsubscribed = event("CANCELLATION", 5, { cancelReason: "UNSUBSCRIBE" });
const paused = event("SUBSCRIPTION_PAUSED", 7, { resumesAt: day(90) });
const change = event("PRODUCT_CHANGE", 8, { newProductId: "yearly" });
const unpaid = event("BILLING_ISSUE", 29, { gracePeriodEndsAt: day(46) });
const refunded = event("CANCELLATION", 6, { cancelReason: "CUSTOMER_SUPPORT", expiresAt: day(6) });

describe("a whole state", () => {
  test("replaces what other events have said", () => {
    const state = foldPurchase([bought, unsubscribed, paused, unpaid, read(30, {}, { expiresAt: day(60) })]);
    expect(state).toMatchObject({
      unsubscribedAt: null,
      cancelReason: null,
      billingIssueDetectedAt: null,
      gracePeriodEndsAt: null,
      pausedAt: null,
      resumesAt: null,
      endedAt: null,
      currentPeriodEndsAt: day(60),
      lastEventAt: day(30),
    });
  });

  test("also replaces it as an event of another type", () => {
    const renewal = { ...delivered(30, { unsubscribedAt: day(10) }), type: "RENEWAL" } as const;
    expect(foldPurchase([bought, renewal])).toMatchObject({ unsubscribedAt: day(10), currentPeriodStartsAt: day(0) });
  });

  test("keeps the product to come, unless it names the product of the next period", () => {
    const pending = (facts: Partial<EventFacts>) => foldPurchase([bought, change, read(9, {}, facts)]).pendingProductId;
    expect(pending({})).toBe("yearly");
    expect(pending({ newProductId: "weekly" })).toBe("weekly");
    expect(pending({ newProductId: "monthly" })).toBeNull();
    expect(pending({ productId: "yearly", newProductId: "yearly" })).toBeNull();
    expect(pending({ productId: null, newProductId: "monthly" })).toBeNull();
  });

  test("says when the purchase and its period began, if the provider does", () => {
    const known = read(40, { startedAt: day(-300), periodStartsAt: day(30) }, { purchasedAt: day(25) });
    expect(foldPurchase([bought, known])).toMatchObject({ startedAt: day(-300), currentPeriodStartsAt: day(30) });
    const unknown = read(40, {}, { purchasedAt: day(25) });
    expect(foldPurchase([bought, unknown])).toMatchObject({ startedAt: day(0), currentPeriodStartsAt: day(25) });
  });

  test("leaves the period as it is, if it is delivered without one", () => {
    expect(foldPurchase([bought, delivered(40, {}, { purchasedAt: null })]).currentPeriodStartsAt).toEqual(day(0));
    expect(foldPurchase([bought, delivered(40, {}, { purchasedAt: day(25) })]).currentPeriodStartsAt).toEqual(day(25));
    expect(foldPurchase([bought, read(40, {}, { purchasedAt: null })]).currentPeriodStartsAt).toEqual(day(40));
  });

  test("has what the App Store says of refunds, plans and commitments", () => {
    const commitment = {
      billingPeriodNumber: 3,
      totalBillingPeriods: 12,
      commitmentExpiresAt: day(365),
      commitmentPrice: 120_000,
      commitmentCurrency: "EUR",
      commitmentWillRenew: true,
    };
    const revocation = { revocationType: "REFUND_PRORATED", revocationPercentage: 50_000 };
    const facts = { ...revocation, billingPlanType: "MONTHLY", commitment };
    expect(foldPurchase([bought, delivered(9, {}, facts)])).toMatchObject({
      ...revocation,
      billingPlanType: "MONTHLY",
      ...commitment,
    });
  });
});

describe("since when a condition holds", () => {
  const since = (...events: PurchaseEvent[]) => foldPurchase([bought, ...events]).unsubscribedAt;

  test("is what an API says", () => {
    expect(since(unsubscribed, read(9, { unsubscribedAt: day(8) }))).toEqual(day(8));
    expect(since(read(9, { unsubscribedAt: day(8) }), read(10, { unsubscribedAt: day(3) }))).toEqual(day(3));
  });

  test("is the first of the deliveries that say that it does", () => {
    expect(since(unsubscribed, delivered(9, { unsubscribedAt: day(9) }))).toEqual(day(5));
    expect(since(delivered(9, { unsubscribedAt: day(9) }), delivered(10, { unsubscribedAt: day(4) }))).toEqual(day(4));
    expect(since(delivered(9, { unsubscribedAt: day(9) }))).toEqual(day(9));
    expect(since(unsubscribed, delivered(9), delivered(10, { unsubscribedAt: day(10) }))).toEqual(day(10));
  });

  test("is the first of what an import and other events say", () => {
    const imported = { ...read(9, { unsubscribedAt: day(8) }), type: "IMPORT" } as const;
    expect(since(unsubscribed, imported)).toEqual(day(5));
    expect(since(imported)).toEqual(day(8));
  });

  test("of a failed charge is the same", () => {
    const first = delivered(9, { billingIssueDetectedAt: day(9) });
    const second = delivered(10, { billingIssueDetectedAt: day(10) });
    expect(foldPurchase([bought, first, second]).billingIssueDetectedAt).toEqual(day(9));
  });
});

test("the reason stays as long as the purchase is canceled or refunded", () => {
  const reason = (snapshot: Partial<Snapshot>, facts: Partial<EventFacts> = {}) =>
    foldPurchase([bought, unsubscribed, read(9, snapshot, facts)]).cancelReason;
  expect(reason({ unsubscribedAt: day(5) })).toBe("UNSUBSCRIBE");
  expect(reason({ refundedAt: day(6) })).toBe("UNSUBSCRIBE");
  expect(reason({ unsubscribedAt: day(5) }, { cancelReason: "PRICE_INCREASE" })).toBe("PRICE_INCREASE");
  expect(reason({}, { cancelReason: "PRICE_INCREASE" })).toBeNull();
});

test("a payment that stays due has one grace period, whichever the provider begins", () => {
  const due = (onDay: number, until: number | null, make = delivered) =>
    make(onDay, { billingIssueDetectedAt: day(onDay) }, { gracePeriodEndsAt: until === null ? null : day(until) });
  const end = (...events: PurchaseEvent[]) => foldPurchase([bought, ...events]).gracePeriodEndsAt;
  expect(end(due(30, 46), due(40, 56))).toEqual(day(46));
  expect(end(due(30, 46), due(40, 44))).toEqual(day(44));
  expect(end(due(30, 46), due(40, null))).toBeNull();
  expect(end(due(30, 46), delivered(40, {}, { gracePeriodEndsAt: day(56) }))).toEqual(day(56));
  expect(end(due(30, 46), delivered(35), due(40, 56))).toEqual(day(56)); // paid between
  expect(end(delivered(30, {}, { gracePeriodEndsAt: day(46) }), due(40, 56))).toEqual(day(56)); // not due before
  expect(end(due(30, 46), due(40, 56, read))).toEqual(day(56)); // an API says which one it is
});

test("a pause is known since it was first said, and may have no end", () => {
  expect(foldPurchase([bought, paused, read(9, {}, { resumesAt: day(80) })])).toMatchObject({
    pausedAt: day(7),
    resumesAt: day(80),
  });
  const pausing = delivered(9, { isPausing: true });
  expect(foldPurchase([bought, pausing])).toMatchObject({ pausedAt: day(9), resumesAt: null });
  expect(foldPurchase([bought, pausing, delivered(10, { isPausing: true })]).pausedAt).toEqual(day(9));
  expect(foldPurchase([bought, pausing, delivered(10, { isPausing: false })]).pausedAt).toBeNull();
});

describe("the end of a subscription", () => {
  const ended = event("EXPIRATION", 31, { expirationReason: "BILLING_ERROR" });
  const fold = (...events: PurchaseEvent[]) => {
    const { endedAt, expirationReason } = foldPurchase([bought, ...events]);
    return [endedAt, expirationReason];
  };

  test("is what the state says, not an expiry that has passed", () => {
    expect(fold(read(40))).toEqual([null, null]);
    expect(fold(read(40, { endedAt: day(30) }, { expirationReason: "UNSUBSCRIBE" }))).toEqual([day(30), "UNSUBSCRIBE"]);
    expect(fold(read(40, {}, { expirationReason: "UNSUBSCRIBE" }))).toEqual([null, null]);
  });

  test("stays, with its reason, until a later period is known", () => {
    expect(fold(ended, read(40))).toEqual([day(30), "BILLING_ERROR"]);
    expect(fold(ended, read(40, {}, { expirationReason: "UNSUBSCRIBE" }))).toEqual([day(30), "UNSUBSCRIBE"]);
    expect(fold(ended, read(40, {}, { expiresAt: day(29) }))).toEqual([day(30), "BILLING_ERROR"]);
    expect(fold(ended, read(40, {}, { expiresAt: day(31) }))).toEqual([null, null]);
    expect(fold(ended, read(40, {}, { expiresAt: day(60) }))).toEqual([null, null]);
    expect(fold(ended, read(40, {}, { expiresAt: null }))).toEqual([null, null]);
    const later = event("EXPIRATION", 36, { expiresAt: day(35) });
    for (const expiry of [33, 35]) expect(fold(later, read(40, {}, { expiresAt: day(expiry) }))[0]).toEqual(day(35));
    expect(fold(later, read(40, {}, { expiresAt: day(36) }))[0]).toBeNull();
    const early = event("EXPIRATION", 20, { expirationReason: "BILLING_ERROR" });
    expect(fold(early, read(40))).toEqual([day(20), "BILLING_ERROR"]); // of the period that has passed since
    expect(fold(early, read(30))).toEqual([day(20), "BILLING_ERROR"]);
    expect(fold(early, read(29))).toEqual([null, null]);
  });

  test("does not move where the provider does not say since when it is over", () => {
    const over = (onDay: number, facts: Partial<EventFacts> = {}) => delivered(onDay, { endedAt: day(onDay) }, facts);
    expect(foldPurchase([bought, over(33), over(40)])).toMatchObject({
      endedAt: day(33),
      currentPeriodEndsAt: day(33),
    });
    expect(foldPurchase([bought, over(33)])).toMatchObject({ endedAt: day(33), currentPeriodEndsAt: day(30) });
    expect(fold(over(33), delivered(40, { endedAt: day(36) }))[0]).toEqual(day(36)); // it says so
    expect(fold(over(33), read(40, { endedAt: day(40) }))[0]).toEqual(day(40)); // as an API does
    const beyond = delivered(33, { endedAt: day(50) });
    expect(fold(beyond, over(40))[0]).toEqual(day(40)); // it was to end later
    const until = { endedAt: day(40), unsubscribedAt: day(5) };
    expect(foldPurchase([bought, delivered(33, until), delivered(40, until)])).toMatchObject({
      endedAt: day(40),
      currentPeriodEndsAt: day(40),
      unsubscribedAt: day(5),
    });
    const twice = [over(33), delivered(40, until)];
    expect(foldPurchase([bought, ...twice])).toMatchObject({ endedAt: day(33), unsubscribedAt: day(5) });
  });

  test("is a refund's, if the period is over", () => {
    const refund = (expiresAt: Date | null) => fold(read(20, { refundedAt: day(15) }, { expiresAt }))[0];
    expect(refund(day(10))).toEqual(day(10));
    expect(refund(day(20))).toEqual(day(15));
    expect(refund(null)).toEqual(day(15));
    expect(refund(day(21))).toBeNull();
  });
});

describe("of a one-time purchase", () => {
  const state = (snapshot: Partial<Snapshot>, facts: Partial<EventFacts> = {}) =>
    read(9, snapshot, { periodType: null, expiresAt: null, ...facts });

  test("a state without a refund leaves the known one, unless the provider would name it", () => {
    expect(foldPurchase([once, refunded, state({})])).toMatchObject({ refundedAt: day(6), endedAt: day(6) });
    expect(foldPurchase([once, refunded, state({ isRefundKnown: true })])).toMatchObject({
      refundedAt: null,
      endedAt: null,
      isLifetime: true,
    });
    expect(foldPurchase([bought, refunded, read(9)])).toMatchObject({ refundedAt: null });
  });

  test("a refund revokes at any time", () => {
    const refund = state({ refundedAt: day(8) }, { expiresAt: day(90) });
    expect(foldPurchase([once, refund])).toMatchObject({ refundedAt: day(8), endedAt: day(8), isLifetime: false });
    expect(foldPurchase([once, state({ refundedAt: day(8) })])).toMatchObject({ isLifetime: true, endedAt: day(8) });
  });

  test("the known end stays, but not that of a temporary grant", () => {
    const removed = event("CANCELLATION", 6, {
      cancelReason: "DEVELOPER_INITIATED",
      expiresAt: null,
      periodType: null,
    });
    expect(foldPurchase([once, removed, state({})]).endedAt).toEqual(day(6));
    const granted = event("TEMPORARY_ENTITLEMENT_GRANT", 0, { expiresAt: day(1), periodType: null });
    const taken = event("EXPIRATION", 0.5, { expiresAt: day(0.5) });
    expect(foldPurchase([granted, taken, state({}, { expiresAt: day(90) })]).endedAt).toBeNull();
  });
});

describe("states of one instant", () => {
  const at = (id: string, productId: string, order: Partial<NonNullable<EventFacts["order"]>>): PurchaseEvent => ({
    ...delivered(
      9,
      {},
      { productId, order: { nanoseconds: 0, receivedAt: null, state: null, replacedState: null, ...order } },
    ),
    id,
  });
  /** The product of the state that counts, whichever arrives first. */
  const last = (...events: PurchaseEvent[]) => {
    const [one, ...others] = [events, events.toReversed()].map((some) => foldPurchase([bought, ...some]).productId);
    expect(others).toEqual([one]);
    return one;
  };

  test("are in the order of their nanoseconds, then of their arrival", () => {
    expect(last(at("b", "x", { nanoseconds: 1 }), at("a", "y", { nanoseconds: 2 }))).toBe("y");
    expect(last(at("b", "x", { receivedAt: day(10) }), at("a", "y", { receivedAt: day(11) }))).toBe("y");
    expect(last(at("b", "x", {}), at("a", "y", { receivedAt: day(11) }))).toBe("y");
    expect(last(at("a", "x", {}), at("b", "y", {}))).toBe("y");
  });

  test("of an event, and of a request that was made in the millisecond of its arrival: the event's", () => {
    const [asked, event] = ["b", "a"].map((id) => at(id, id, { receivedAt: day(10) })) as [
      PurchaseEvent,
      PurchaseEvent,
    ];
    expect(last({ ...asked, type: "SNAPSHOT" }, { ...event, type: "RENEWAL" })).toBe("a");
  });

  test("follow the one that they replaced, whenever they arrive", () => {
    const chain = [
      at("c", "first", { state: "1", replacedState: "0", receivedAt: day(12) }),
      at("b", "second", { state: "2", replacedState: "1", receivedAt: day(11) }),
      at("a", "third", { state: "3", replacedState: "2", receivedAt: day(10) }),
    ];
    expect(last(...chain)).toBe("third");
    expect(last(...chain.slice(0, 2))).toBe("second");
    const end = at("d", "end", { state: "9", receivedAt: day(9) });
    expect(last(...chain, end)).toBe("end"); // it does not say what it replaced
    const created = at("d", "created", { state: "0", replacedState: "", receivedAt: day(13) });
    expect(last(...chain, created)).toBe("third");
    const unchanged = at("b", "unchanged", { state: "1", replacedState: "1", receivedAt: day(11) });
    expect(last(unchanged, at("a", "end", { state: "9", receivedAt: day(10) }))).toBe("end");
  });

  test("are not moved past one that does not say what it is", () => {
    const [first, second] = [
      at("c", "first", { state: "1", replacedState: "0", receivedAt: day(10) }),
      at("a", "second", { state: "2", replacedState: "1", receivedAt: day(12) }),
    ];
    for (const onDay of [9, 11])
      expect(last(first, second, at("b", "none", { receivedAt: day(onDay) }))).toBe("second");
  });

  test("follow the state of the instant before", () => {
    const early: PurchaseEvent = { ...at("0", "early", { state: "0" }), occurredAt: day(7) };
    const before: PurchaseEvent = { ...at("0b", "before", { state: "1", replacedState: "0" }), occurredAt: day(8) };
    const [second, third] = [
      at("z", "second", { state: "2", replacedState: "1" }),
      at("y", "third", { state: "1", replacedState: "2" }),
    ];
    expect(last(early, before, second, third)).toBe("third");
    const undone: PurchaseEvent = { ...at("0", "undone", { state: "2", replacedState: "1" }), occurredAt: day(8) };
    expect(last(undone, at("a", "redone", { state: "1", replacedState: "0" }))).toBe("redone");
    const other = at("zz", "other", { state: "9", replacedState: "7" });
    expect(last(before, { ...second, id: "x" }, third, other)).toBe("other");
  });
});

test("an import that knows its period to the second is of the period that begins within it", () => {
  const exact = new Date(day(0).getTime() + 250);
  const purchase = event("INITIAL_PURCHASE", 0, { purchasedAt: exact });
  const imported = event("IMPORT", 3, { snapshot: { ...CLEAN, unsubscribedAt: day(2) } });
  expect(foldPurchase([purchase, imported])).toMatchObject({ unsubscribedAt: day(2), currentPeriodStartsAt: exact });
  expect(foldPurchase([imported, event("RENEWAL", 30, { purchasedAt: day(30), expiresAt: day(60) })])).toMatchObject({
    unsubscribedAt: null,
    currentPeriodStartsAt: day(30),
  });
  const again = event("RENEWAL", 1, { purchasedAt: new Date(exact.getTime() + 250) });
  expect(foldPurchase([purchase, again]).startedAt).toEqual(exact);
  const later = event("RENEWAL", 1, { purchasedAt: new Date(day(0).getTime() + 1000) });
  expect(foldPurchase([imported, later]).unsubscribedAt).toBeNull();
});

describe("a payment's refunds", () => {
  const paid = event("NON_RENEWING_PURCHASE", 0, {
    expiresAt: null,
    periodType: null,
    payment: { total: "1000", refund: null },
  });
  const refund = (
    onDay: number,
    id: string,
    amount: string | null,
    isFull = false,
    type: PurchaseEvent["type"] = "PARTIAL_REFUND",
  ) =>
    event(
      type,
      onDay,
      { expiresAt: null, periodType: null, payment: { total: null, refund: { id, amount, isFull } } },
      `${id}-${onDay}`,
    );
  const reversal = (onDay: number, id: string, amount: string, isFull = false) =>
    refund(onDay, id, amount, isFull, "REFUND_REVERSED");
  const refundedAt = (...events: PurchaseEvent[]) => foldPurchase([paid, ...events]).refundedAt;

  test("revoke the purchase once they add up to the payment", () => {
    expect(refundedAt(refund(1, "a", "999"))).toBeNull();
    expect(refundedAt(refund(1, "a", "400"), refund(2, "b", "600"))).toEqual(day(2));
    expect(refundedAt(refund(1, "a", "400"), refund(2, "b", "600"), refund(3, "c", "1"))).toEqual(day(2));
    expect(refundedAt(refund(1, "a", null, true))).toEqual(day(1));
    expect(foldPurchase([paid, refund(1, "a", null, true)])).toMatchObject({ endedAt: day(1), isLifetime: true });
  });

  test("count once each, however often they are said", () => {
    expect(refundedAt(refund(1, "a", "500"), refund(2, "a", "500"))).toBeNull();
    expect(refundedAt(refund(1, "a", "500"), reversal(2, "a", "500"), refund(3, "b", "500"))).toBeNull();
  });

  test("of an unknown payment count as a whole alone", () => {
    const unknown = { ...paid, payment: null };
    expect(foldPurchase([unknown, refund(1, "a", "1000")]).refundedAt).toBeNull();
    expect(foldPurchase([unknown, refund(1, "a", "1000", true)]).refundedAt).toEqual(day(1));
  });

  test("end with a reversal of the whole, not of a part of it", () => {
    const whole = refund(1, "a", "1000", true);
    expect(refundedAt(whole, reversal(2, "b", "1000", true))).toBeNull();
    expect(foldPurchase([paid, whole, reversal(2, "b", "1000", true)])).toMatchObject({
      endedAt: null,
      isLifetime: true,
    });
    expect(refundedAt(whole, reversal(2, "b", "400"))).toBeNull();
    expect(refundedAt(whole, refund(2, "b", "400"), reversal(3, "c", "400"))).toEqual(day(1));
    expect(refundedAt(refund(1, "a", "400"), reversal(2, "b", "100"), refund(3, "c", "700"))).toEqual(day(3));
    expect(refundedAt(refund(1, "a", "400"), reversal(2, "b", "1000"), refund(3, "c", "600"))).toBeNull();
    expect(refundedAt(refund(1, "a", "400"), reversal(2, "b", "1000"), refund(3, "c", "1000"))).toEqual(day(3));
  });
});
