import type { Purchase, PurchaseState } from "./purchase-state";
import { endReplaced } from "./replacement";
import { counts, type StatusRules } from "./rules";
import type { Entitlement, PurchaseStatus, SubscriptionStatus } from "./schema";

type Judgement = { status: PurchaseStatus["status"]; stale?: true };

const WITH_ACCESS = new Set<PurchaseStatus["status"]>(["active", "trialing", "canceled", "grace_period"]);
/** Periods that are paid for once. */
const NOT_RENEWING = new Set(["PREPAID", "PROMOTIONAL"]);

/** Where each store lets people manage what they bought, as the stores document it. */
const MANAGEMENT_URLS = new Map([
  ["APP_STORE", "https://apps.apple.com/account/subscriptions"],
  ["MAC_APP_STORE", "https://apps.apple.com/account/subscriptions"],
  ["PLAY_STORE", "https://play.google.com/store/account/subscriptions"],
]);

/** What is told of somebody who has no purchase. */
const NO_PURCHASE: PurchaseStatus = {
  status: "none",
  isActive: false,
  willRenew: false,
  isLifetime: false,
  isFamilyShare: false,
  stale: false,
  entitlements: [],
  productId: null,
  pendingProductId: null,
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
};

/**
 * An account's status at a moment: that of its best purchase, with access before without, then lifetime, then the
 * latest end. Lines of an environment that does not count are listed, but never the answer. A one-time purchase that
 * gives no entitlement, such as coins, is no subscription.
 */
export function accountStatus(purchases: Purchase[], at: Date, rules: StatusRules): SubscriptionStatus {
  const entitling = purchases.filter(
    ({ periodType, entitlementIds }) => periodType !== null || entitlementIds.length > 0,
  );
  const judged = endReplaced(entitling).map((purchase) => ({ purchase, answer: purchaseStatus(purchase, at, rules) }));
  const ranked = judged.toSorted((a, b) => comparePurchases(a.answer, b.answer));
  const counting = ranked.filter(({ purchase }) => counts(purchase, rules)).map(({ answer }) => answer);
  return {
    ...(counting[0] ?? NO_PURCHASE),
    entitlements: unite(counting.flatMap(({ entitlements }) => entitlements)),
    subscriptions: ranked.map(({ answer }) => answer),
    lastEventAt: latest(...purchases.map(({ lastEventAt }) => lastEventAt)),
    checkedAt: at,
  };
}

/** A purchase's status at a moment. */
export function purchaseStatus(purchase: Purchase, at: Date, rules: StatusRules): PurchaseStatus {
  const { status, stale = false } = judge(purchase, at, rules);
  const isActive = WITH_ACCESS.has(status) && counts(purchase, rules);
  const accessEndsAt = accessEnd(purchase, stale ? rules.staleLeewaySeconds : 0);
  return {
    status,
    isActive,
    willRenew: (status === "active" || status === "trialing") && renews(purchase) && !isHeldUp(purchase),
    isLifetime: purchase.isLifetime,
    isFamilyShare: purchase.isFamilyShare,
    stale,
    entitlements: purchase.entitlementIds.map((id) => ({
      id,
      isActive,
      expiresAt: accessEndsAt,
      productId: purchase.productId,
      store: purchase.store,
    })),
    productId: purchase.productId,
    pendingProductId: purchase.pendingProductId,
    store: purchase.store,
    periodType: purchase.periodType,
    environment: purchase.environment,
    startedAt: purchase.startedAt,
    currentPeriodStartsAt: purchase.currentPeriodStartsAt,
    currentPeriodEndsAt: purchase.currentPeriodEndsAt,
    accessEndsAt,
    gracePeriodEndsAt: purchase.gracePeriodEndsAt,
    canceledAt: purchase.unsubscribedAt,
    cancelReason: purchase.cancelReason,
    expirationReason: purchase.expirationReason,
    billingIssueDetectedAt: purchase.billingIssueDetectedAt,
    refundedAt: purchase.refundedAt,
    resumesAt: purchase.resumesAt,
    managementUrl: MANAGEMENT_URLS.get(purchase.store) ?? null,
  };
}

/** First match counts. */
function judge(purchase: Purchase, at: Date, rules: StatusRules): Judgement {
  if (isRevoked(purchase)) return { status: "revoked" };
  if (purchase.endedAt) return { status: endedStatus(purchase.expirationReason) };
  if (purchase.isLifetime) return { status: "active" };
  const end = purchase.currentPeriodEndsAt;
  if (!end) return { status: "expired" };
  if (at < end) return { status: runningStatus(purchase) };
  if (purchase.billingIssueDetectedAt) {
    return { status: purchase.gracePeriodEndsAt && at < purchase.gracePeriodEndsAt ? "grace_period" : "billing_retry" };
  }
  if (purchase.pausedAt) return { status: "paused" };
  if (renews(purchase) && at < plusSeconds(end, rules.staleLeewaySeconds)) return { status: "active", stale: true };
  return { status: "expired" };
}

function endedStatus(reason: string | null): PurchaseStatus["status"] {
  if (reason === "SUBSCRIPTION_PAUSED") return "paused";
  return reason === "CUSTOMER_SUPPORT" ? "revoked" : "expired";
}

/** Before the end of the period: access, whatever else is wrong. */
function runningStatus(purchase: Purchase): PurchaseStatus["status"] {
  if (purchase.unsubscribedAt) return "canceled";
  return purchase.periodType === "TRIAL" ? "trialing" : "active";
}

/** Whether a refund ended the purchase. One that did not leaves access until the end of the period. */
export function isRevoked({ refundedAt, endedAt }: PurchaseState): boolean {
  return refundedAt !== null && endedAt !== null && endedAt <= refundedAt;
}

/** Whether the next charge has failed already, or is put off by a pause. */
const isHeldUp = ({ billingIssueDetectedAt, pausedAt }: PurchaseState) =>
  billingIssueDetectedAt !== null || pausedAt !== null;

/** Whether a period follows this one unless somebody acts. A one-time purchase has no period type. */
function renews({ periodType, store, unsubscribedAt, isLifetime }: Purchase): boolean {
  const renewing = periodType !== null && !NOT_RENEWING.has(periodType) && store !== "PROMOTIONAL";
  return renewing && !isLifetime && unsubscribedAt === null;
}

/** Whether a purchase should have renewed, or is a subscription, and nobody has told until when it goes. */
export function isOverdue(purchase: Purchase, at: Date): boolean {
  const { currentPeriodEndsAt: end, endedAt } = purchase;
  if (endedAt || purchase.isLifetime) return false;
  if (end === null) return purchase.periodType !== null;
  return end <= at && !isHeldUp(purchase) && renews(purchase);
}

/** When access ends or ended, as far as is known; null for lifetime. */
function accessEnd(purchase: Purchase, leewaySeconds: number): Date | null {
  const end = purchase.currentPeriodEndsAt;
  if (purchase.endedAt) return purchase.endedAt;
  if (purchase.isLifetime) return null;
  return latest(end && plusSeconds(end, leewaySeconds), purchase.billingIssueDetectedAt && purchase.gracePeriodEndsAt);
}

function comparePurchases(a: PurchaseStatus, b: PurchaseStatus): number {
  return (
    Number(b.isActive) - Number(a.isActive) ||
    Number(b.isLifetime) - Number(a.isLifetime) ||
    (b.accessEndsAt?.getTime() ?? 0) - (a.accessEndsAt?.getTime() ?? 0)
  );
}

/** One entry an entitlement: active before not, then without an end, then the latest end. */
function unite(all: Entitlement[]): Entitlement[] {
  const end = ({ expiresAt }: Entitlement) => expiresAt?.getTime() ?? Number.MAX_SAFE_INTEGER;
  const best = new Map<string, Entitlement>();
  for (const one of all.toSorted((a, b) => Number(a.isActive) - Number(b.isActive) || end(a) - end(b))) {
    best.set(one.id, one);
  }
  return [...best.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function latest(...times: (Date | null)[]): Date | null {
  return times.reduce((found, time) => (time && (!found || time > found) ? time : found), null);
}

const plusSeconds = (time: Date, seconds: number) => new Date(time.getTime() + seconds * 1000);
