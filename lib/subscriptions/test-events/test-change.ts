import { createHash, randomUUID } from "node:crypto";
import { z } from "zod";
import type { StoredPurchase } from "../purchase-state";
import { latest } from "../status/purchase-status";

const DAY_MS = 24 * 60 * 60 * 1000;
const PERIOD_MS = 30 * DAY_MS;
/** Apple's longest grace period of a monthly subscription. */
const GRACE_MS = 16 * DAY_MS;

/** What happens to a test subscription. Each provider has its own name for it. */
export const TestEventType = z.enum([
  "INITIAL_PURCHASE",
  "RENEWAL",
  "CANCELLATION",
  "UNCANCELLATION",
  "BILLING_ISSUE",
  "EXPIRATION",
  "REFUND",
  "PRODUCT_CHANGE",
]);
export type TestEventType = z.infer<typeof TestEventType>;

export type TestProduct = { id: string; entitlementIds: readonly string[] };

type Period = { startsAt: Date; endsAt: Date };

/** What a test event says. Later events of a subscription have later times, so that they win. */
export type TestChange = {
  type: TestEventType;
  /** Of this event alone. */
  id: string;
  /** Names the account's test subscription and customer: does not contain the account's id. */
  key: string;
  accountId: string;
  occurredAt: Date;
  now: Date;
  startedAt: Date;
  /** The period that the event leads to, and the one before it: of a failed charge, the one that is not paid. */
  period: Period;
  previousPeriod: Period;
  /** The period that is paid for after the event. */
  paidPeriod: Period;
  gracePeriodEndsAt: Date;
  product: TestProduct;
  previousProduct: TestProduct;
  /** Whether the renewal is off before and after the event. */
  wasCanceled: boolean;
  isCanceled: boolean;
  /** Whether a charge has failed, before and after the event. */
  wasPastDue: boolean;
  isPastDue: boolean;
};

/** The part of the ids of an account's test subscription that is the same for each of its events. */
export const testKeyOf = (accountId: string): string =>
  createHash("sha256").update(`test subscription of ${accountId}`).digest("hex").slice(0, 24);

/**
 * What an event changes in a subscription; `purchase` null: in one that does not exist. `precisionMs`: of the provider's times.
 */
export function testChangeOf(
  type: TestEventType,
  purchase: StoredPurchase | null,
  {
    precisionMs,
    ...given
  }: Pick<TestChange, "accountId" | "now" | "product" | "previousProduct"> & { precisionMs: number },
): TestChange {
  const { now } = given;
  const known = type === "INITIAL_PURCHASE" ? null : purchase;
  const after = purchase?.lastEventAt && new Date(purchase.lastEventAt.getTime() + precisionMs);
  const isRenewed = known === null || type === "RENEWAL";
  const wasPastDue = known !== null && known.billingIssueDetectedAt !== null;
  const wasCanceled = known !== null && known.unsubscribedAt !== null;
  return {
    ...given,
    ...periodsOf(type, known, now),
    type,
    id: randomUUID(),
    key: testKeyOf(given.accountId),
    occurredAt: latest(now, after ?? null) ?? now,
    startedAt: known?.startedAt ?? now,
    gracePeriodEndsAt: new Date(now.getTime() + GRACE_MS),
    wasCanceled,
    // Only a subscription that renews is charged.
    isCanceled: type === "CANCELLATION" || (wasCanceled && !isRenewed && !REOPENING.has(type)),
    wasPastDue,
    isPastDue: type === "BILLING_ISSUE" || (wasPastDue && !isRenewed),
  };
}

const REOPENING = new Set<TestEventType>(["UNCANCELLATION", "BILLING_ISSUE"]);
const ENDING = new Set<TestEventType>(["EXPIRATION", "REFUND"]);

function periodsOf(type: TestEventType, known: StoredPurchase | null, now: Date) {
  const next = { startsAt: now, endsAt: new Date(now.getTime() + PERIOD_MS) };
  if (known === null) return { period: next, previousPeriod: next, paidPeriod: next };
  const paid = { startsAt: known.currentPeriodStartsAt ?? now, endsAt: known.currentPeriodEndsAt ?? now };
  const isPastDue = known.billingIssueDetectedAt !== null && known.gracePeriodEndsAt !== null;
  const previousPeriod = isPastDue ? { startsAt: paid.endsAt, endsAt: known.gracePeriodEndsAt ?? now } : paid;
  if (type === "BILLING_ISSUE") return { period: next, previousPeriod, paidPeriod: { ...paid, endsAt: now } };
  if (type !== "RENEWAL") {
    const endsAt = ENDING.has(type) && now < paid.endsAt ? now : paid.endsAt;
    return { period: previousPeriod, previousPeriod, paidPeriod: { ...paid, endsAt } };
  }
  const period = { startsAt: now, endsAt: new Date(Math.max(paid.endsAt.getTime(), now.getTime()) + PERIOD_MS) };
  return { period, previousPeriod, paidPeriod: period };
}
