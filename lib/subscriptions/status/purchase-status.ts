import { canEntitle, type StatusRules } from "../entitlement-rules";
import type { Purchase, PurchaseState } from "../purchase-state";
import type { PurchaseStatus } from "../schema";

type AccessState = { status: PurchaseStatus["status"]; stale?: true };

const ACTIVE_STATUSES = new Set<PurchaseStatus["status"]>(["active", "trialing", "canceled", "grace_period"]);
/** Period types that do not renew. */
const NON_RENEWING_PERIODS = new Set(["PREPAID", "PROMOTIONAL"]);

/**
 * The stores that retry a failed charge after RevenueCat's EXPIRATION, for 60 days at most (Apple, "Reducing Involuntary
 * Subscriber Churn"; Google, "Subscription lifecycle", account hold). The other providers report the end of the retries.
 */
const RETRYING_STORES = new Set(["APP_STORE", "MAC_APP_STORE", "PLAY_STORE"]);
const MAX_RETRY_SECONDS = 60 * 24 * 60 * 60;

/** The pages to manage subscriptions, from the stores' documentation. */
const MANAGEMENT_URLS = new Map([
  ["APP_STORE", "https://apps.apple.com/account/subscriptions"],
  ["MAC_APP_STORE", "https://apps.apple.com/account/subscriptions"],
  ["PLAY_STORE", "https://play.google.com/store/account/subscriptions"],
]);

/** Computes a purchase's status at a time. */
export function purchaseStatus(purchase: Purchase, at: Date, rules: StatusRules): PurchaseStatus {
  const { status, stale = false } = accessState(purchase, at, rules);
  const isActive = ACTIVE_STATUSES.has(status) && canEntitle(purchase, rules);
  const accessEndsAt = accessEnd(purchase, stale ? rules.staleLeewaySeconds : 0);
  const willRenew =
    (status === "active" || status === "trialing") && isRenewing(purchase) && !isRenewalBlocked(purchase);
  return {
    purchaseId: purchase.id,
    status,
    isActive,
    willRenew,
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
    changesTo: willRenew ? nextProduct(purchase) : null,
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
    revocationType: purchase.revocationType,
    revocationPercentage: purchase.revocationPercentage === null ? null : purchase.revocationPercentage / 1000,
    billingPlanType: purchase.billingPlanType,
    commitment: commitmentOf(purchase),
    resumesAt: purchase.resumesAt,
    managementUrl: rules.managementUrls.get(purchase.store) ?? MANAGEMENT_URLS.get(purchase.store) ?? null,
  };
}

function commitmentOf(purchase: PurchaseState): PurchaseStatus["commitment"] {
  const { billingPeriodNumber, totalBillingPeriods, commitmentExpiresAt: expiresAt } = purchase;
  if (billingPeriodNumber === null || totalBillingPeriods === null || expiresAt === null) return null;
  const { commitmentPrice: priceMilliunits, commitmentCurrency: currency, commitmentWillRenew: willRenew } = purchase;
  return { billingPeriodNumber, totalBillingPeriods, expiresAt, priceMilliunits, currency, willRenew };
}

type Access = "entitled" | "without_entitlement" | "not_counted" | "none";

/**
 * What a purchase gives: an entitlement, none although it is active, or nothing. `not_counted`: it
 * would give access in production.
 */
export function accessOf({ status, isActive, entitlements }: StatusWithAccess): Access {
  if (isActive) return entitlements.some((entitlement) => entitlement.isActive) ? "entitled" : "without_entitlement";
  return ACTIVE_STATUSES.has(status) ? "not_counted" : "none";
}

type StatusWithAccess = Pick<PurchaseStatus, "status" | "isActive"> & {
  entitlements: readonly { isActive: boolean }[];
};

/** Returns the product that the next renewal changes to; null if it stays the same. */
function nextProduct({ pendingProductId, currentPeriodEndsAt }: PurchaseState): PurchaseStatus["changesTo"] {
  if (pendingProductId === null || currentPeriodEndsAt === null) return null;
  return { productId: pendingProductId, at: currentPeriodEndsAt };
}

/** Whether a purchase gives no access at all: a one-time purchase without entitlements, such as coins. */
export function isConsumable({ periodType, entitlementIds }: PurchaseState): boolean {
  return periodType === null && entitlementIds.length === 0;
}

/** The first rule that matches decides. */
function accessState(purchase: Purchase, at: Date, rules: StatusRules): AccessState {
  if (isRevoked(purchase)) return { status: "revoked" };
  if (purchase.endedAt)
    return { status: isRetried(purchase, at) ? "billing_retry" : endedStatus(purchase.expirationReason) };
  if (isConsumable(purchase)) return { status: "none" };
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

/** Whether the store still retries the charge that has ended the purchase. */
function isRetried(purchase: Purchase, at: Date): boolean {
  const { provider, store, expirationReason, currentPeriodEndsAt, endedAt } = purchase;
  const end = currentPeriodEndsAt ?? endedAt;
  const isFailed = provider === "revenuecat" && RETRYING_STORES.has(store) && expirationReason === "BILLING_ERROR";
  return isFailed && end !== null && at < plusSeconds(end, MAX_RETRY_SECONDS);
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

/** Returns the latest of some times; null if there is none. */
export function latest(...times: (Date | null)[]): Date | null {
  return times.reduce((found, time) => (time && (!found || time > found) ? time : found), null);
}

const plusSeconds = (time: Date, seconds: number) => new Date(time.getTime() + seconds * 1000);
