import { canEntitle, type StatusRules } from "./entitlement-rules";
import type { Purchase, PurchaseState } from "./purchase-state";
import { endReplacedPurchases } from "./replacement";
import type { Entitlement, PurchaseStatus, SubscriptionStatus } from "./schema";

type AccessState = { status: PurchaseStatus["status"]; stale?: true };

const ACTIVE_STATUSES = new Set<PurchaseStatus["status"]>(["active", "trialing", "canceled", "grace_period"]);
/** Period types that do not renew. */
const NON_RENEWING_PERIODS = new Set(["PREPAID", "PROMOTIONAL"]);

/** The pages to manage subscriptions, from the stores' documentation. */
const MANAGEMENT_URLS = new Map([
  ["APP_STORE", "https://apps.apple.com/account/subscriptions"],
  ["MAC_APP_STORE", "https://apps.apple.com/account/subscriptions"],
  ["PLAY_STORE", "https://play.google.com/store/account/subscriptions"],
]);

/** The status of an account without purchases. */
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
 * Computes an account's status at a time: that of its best purchase. Purchases with access come first, then lifetime
 * purchases, then the latest end of access. Purchases that cannot entitle, such as sandbox purchases, are only listed.
 * One-time purchases without entitlements, such as coins, are left out.
 */
export function accountStatus(purchases: Purchase[], at: Date, rules: StatusRules): SubscriptionStatus {
  const entitling = purchases.filter(
    ({ periodType, entitlementIds }) => periodType !== null || entitlementIds.length > 0,
  );
  const ranked = endReplacedPurchases(entitling)
    .map((purchase) => ({ purchase, status: purchaseStatus(purchase, at, rules) }))
    .toSorted((a, b) => comparePurchases(a.status, b.status));
  const counting = ranked.filter(({ purchase }) => canEntitle(purchase, rules)).map(({ status }) => status);
  return {
    ...(counting[0] ?? NO_PURCHASE),
    entitlements: mergeEntitlements(counting.flatMap(({ entitlements }) => entitlements)),
    subscriptions: ranked.map(({ status }) => status),
    lastEventAt: latest(...purchases.map(({ lastEventAt }) => lastEventAt)),
    checkedAt: at,
  };
}

/** Computes a purchase's status at a time. */
export function purchaseStatus(purchase: Purchase, at: Date, rules: StatusRules): PurchaseStatus {
  const { status, stale = false } = accessState(purchase, at, rules);
  const isActive = ACTIVE_STATUSES.has(status) && canEntitle(purchase, rules);
  const accessEndsAt = accessEnd(purchase, stale ? rules.staleLeewaySeconds : 0);
  return {
    status,
    isActive,
    willRenew: (status === "active" || status === "trialing") && isRenewing(purchase) && !isRenewalBlocked(purchase),
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

/** The first rule that matches decides. */
function accessState(purchase: Purchase, at: Date, rules: StatusRules): AccessState {
  if (isRevoked(purchase)) return { status: "revoked" };
  if (purchase.endedAt) return { status: endedStatus(purchase.expirationReason) };
  if (purchase.isLifetime) return { status: "active" };
  const end = purchase.currentPeriodEndsAt;
  if (!end) return { status: "expired" };
  if (at < end) return { status: currentPeriodStatus(purchase) };
  if (purchase.billingIssueDetectedAt) {
    return { status: purchase.gracePeriodEndsAt && at < purchase.gracePeriodEndsAt ? "grace_period" : "billing_retry" };
  }
  if (purchase.pausedAt) return { status: "paused" };
  if (isRenewing(purchase) && at < plusSeconds(end, rules.staleLeewaySeconds)) return { status: "active", stale: true };
  return { status: "expired" };
}

function endedStatus(reason: string | null): PurchaseStatus["status"] {
  if (reason === "SUBSCRIPTION_PAUSED") return "paused";
  return reason === "CUSTOMER_SUPPORT" ? "revoked" : "expired";
}

/** Within the period a purchase gives access, even after a failed payment. */
function currentPeriodStatus(purchase: Purchase): PurchaseStatus["status"] {
  if (purchase.unsubscribedAt) return "canceled";
  return purchase.periodType === "TRIAL" ? "trialing" : "active";
}

/** Whether a refund ended the purchase. Otherwise access lasts until the end of the period. */
export function isRevoked({ refundedAt, endedAt }: PurchaseState): boolean {
  return refundedAt !== null && endedAt !== null && endedAt <= refundedAt;
}

/** Whether the next charge has failed, or is postponed by a pause. */
const isRenewalBlocked = ({ billingIssueDetectedAt, pausedAt }: PurchaseState) =>
  billingIssueDetectedAt !== null || pausedAt !== null;

/** Whether the purchase renews unless it is canceled. A one-time purchase has no period type. */
function isRenewing({ periodType, store, unsubscribedAt, isLifetime }: Purchase): boolean {
  const renewing = periodType !== null && !NON_RENEWING_PERIODS.has(periodType) && store !== "PROMOTIONAL";
  return renewing && !isLifetime && unsubscribedAt === null;
}

/** Whether a renewal is due and has not arrived, or a subscription has no known end. */
export function isRenewalOverdue(purchase: Purchase, at: Date): boolean {
  const { currentPeriodEndsAt: end, endedAt } = purchase;
  if (endedAt || purchase.isLifetime) return false;
  if (end === null) return purchase.periodType !== null;
  return end <= at && !isRenewalBlocked(purchase) && isRenewing(purchase);
}

/** Returns when access ends or ended; null for a lifetime purchase or if it is not known. */
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

/** Merges entitlements with the same id: an active one wins, then one that does not expire, then the latest expiry. */
function mergeEntitlements(all: Entitlement[]): Entitlement[] {
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
