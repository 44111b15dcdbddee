import type { EventFacts } from "../../events";
import { earliest } from "../../fold/periods";
import { snapshotOf } from "../build-event";
import { toDate } from "../fields";
import { entitlementsOf } from "../products";
import type { Products } from "../provider";
import type { AppStoreEvent, RenewalInfo, Transaction } from "./payload";

type Event = AppStoreEvent & { transaction: Transaction };
type NotificationEffect = { type: string; facts: Partial<EventFacts> };

/** "notificationType" and "subtype". Types that are not here, such as TEST and PRICE_INCREASE, change no purchase. */
const TYPES = new Map([
  ["SUBSCRIBED", "INITIAL_PURCHASE"],
  ["SUBSCRIBED.RESUBSCRIBE", "RENEWAL"],
  ["DID_RENEW", "RENEWAL"],
  ["DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", "CANCELLATION"],
  ["DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_ENABLED", "UNCANCELLATION"],
  ["DID_CHANGE_RENEWAL_PREF", "PRODUCT_CHANGE"],
  ["OFFER_REDEEMED", "SNAPSHOT"],
  ["DID_FAIL_TO_RENEW", "BILLING_ISSUE"],
  ["GRACE_PERIOD_EXPIRED", "BILLING_ISSUE"],
  ["EXPIRED", "EXPIRATION"],
  ["REVOKE", "EXPIRATION"],
  ["REFUND", "CANCELLATION"],
  ["REFUND_REVERSED", "REFUND_REVERSED"],
  ["RENEWAL_EXTENDED", "SUBSCRIPTION_EXTENDED"],
]);
/** "expirationIntent". */
const END_REASONS = new Map([
  [1, "UNSUBSCRIBE"],
  [2, "BILLING_ERROR"],
  [3, "PRICE_INCREASE"],
]);
/** "status". */
const STATUS = { active: 1, expired: 2, billingRetry: 3, gracePeriod: 4, revoked: 5 } as const;

/** A notification about a subscription. Undefined: it changes nothing. */
export function readSubscription(event: Event, occurredAt: Date, products: Products): NotificationEffect | undefined {
  const { notification, renewalInfo, transaction } = event;
  const { notificationType: name, subtype } = notification;
  const type = TYPES.get(`${name}.${subtype}`) ?? TYPES.get(name ?? "");
  if (!type) return undefined;
  const sold = soldFacts(transaction, products);
  if (isOfOtherPeriod(event)) {
    // It leaves the current period as it is. One that is over or not paid for has nothing to record.
    if ((notification.data?.status ?? STATUS.active) !== STATUS.active)
      return { type: `${name}.OTHER_PERIOD`, facts: {} };
    const expiresAt = toDate(renewalInfo?.renewalDate ?? null);
    const refund = { isRefund: name === "REFUND", cancelReason: name === "REFUND" ? "CUSTOMER_SUPPORT" : null };
    return { type, facts: { entitlementIds: sold.entitlementIds, expiresAt, ...refund } };
  }
  return { type, facts: { ...sold, ...stateOf(event, occurredAt) } };
}

/**
 * A refund and its reversal name a transaction of any period. `renewalDate` is the end of the newest, which may be before
 * that of a longer one that it has replaced.
 */
function isOfOtherPeriod({ notification, renewalInfo, transaction }: Event): boolean {
  const { data, notificationType: name } = notification;
  if (name !== "REFUND" && name !== "REFUND_REVERSED") return false;
  const [end, newest] = [transaction.expiresDate, renewalInfo?.renewalDate ?? null];
  if (end === null || newest === null) return false;
  return end < newest || (end > newest && name === "REFUND" && data?.status === STATUS.active);
}

function soldFacts({ inAppOwnershipType, productId }: Transaction, products: Products): Partial<EventFacts> {
  const entitlementIds = entitlementsOf(products, [{ ids: [productId], metadataEntitlementIds: null }]);
  return { productId, entitlementIds, isFamilyShare: inAppOwnershipType === "FAMILY_SHARED" };
}

/** The subscription's whole state: the newest transaction, the renewal information and the status. */
function stateOf(event: Event, occurredAt: Date): Partial<EventFacts> {
  const { renewalInfo, transaction } = event;
  const status = event.notification.data?.status ?? statusOf(transaction, renewalInfo, occurredAt);
  const expiresAt = toDate(transaction.expiresDate);
  const revokedAt = status === STATUS.revoked ? (toDate(transaction.revocationDate) ?? occurredAt) : null;
  const isRefund = revokedAt !== null && event.notification.notificationType !== "REVOKE";
  const hasIssue = status === STATUS.billingRetry || status === STATUS.gracePeriod;
  const revokedFrom = revokedAt && earliest(expiresAt, revokedAt); // a refund may follow the end
  const endedAt = revokedFrom ?? (status === STATUS.expired ? (expiresAt ?? occurredAt) : null);
  return {
    expiresAt: revokedFrom ?? expiresAt,
    periodType: periodTypeOf(transaction),
    newProductId: renewalInfo?.autoRenewProductId ?? null,
    gracePeriodEndsAt: status === STATUS.gracePeriod ? toDate(renewalInfo?.gracePeriodExpiresDate ?? null) : null,
    isRefund,
    cancelReason: isRefund ? "CUSTOMER_SUPPORT" : renewalInfo?.autoRenewStatus === 0 ? "UNSUBSCRIBE" : null,
    expirationReason: revokedAt
      ? "CUSTOMER_SUPPORT"
      : (END_REASONS.get(renewalInfo?.expirationIntent ?? 0) ?? "UNKNOWN"),
    snapshot: snapshotOf({
      startedAt: toDate(transaction.originalPurchaseDate),
      periodStartsAt: toDate(transaction.purchaseDate),
      unsubscribedAt: renewalInfo?.autoRenewStatus === 0 ? occurredAt : null,
      billingIssueDetectedAt: hasIssue ? occurredAt : null,
      refundedAt: isRefund ? revokedAt : null,
      endedAt,
    }),
  };
}

/** The status as of a notification that has none. */
function statusOf(transaction: Transaction, renewalInfo: RenewalInfo | null, occurredAt: Date): number {
  if (transaction.revocationDate !== null) return STATUS.revoked;
  if ((transaction.expiresDate ?? 0) > occurredAt.getTime()) return STATUS.active;
  if ((renewalInfo?.gracePeriodExpiresDate ?? 0) > occurredAt.getTime()) return STATUS.gracePeriod;
  return renewalInfo?.isInBillingRetryPeriod === true ? STATUS.billingRetry : STATUS.expired;
}

function periodTypeOf({ offerDiscountType, offerType }: Transaction): string {
  if (offerDiscountType === "FREE_TRIAL") return "TRIAL";
  return offerType === 1 ? "INTRO" : "NORMAL";
}

/** A notification about a one-time purchase. Undefined: it changes nothing. */
export function readOneTime({ notification, transaction }: Event, products: Products): NotificationEffect | undefined {
  const purchasedAt = toDate(transaction.purchaseDate);
  const facts = { ...soldFacts(transaction, products), purchasedAt, expiresAt: toDate(transaction.expiresDate) };
  switch (notification.notificationType) {
    case "ONE_TIME_CHARGE":
      return { type: "NON_RENEWING_PURCHASE", facts };
    case "REFUND":
    case "REVOKE": {
      const snapshot = snapshotOf({ refundedAt: toDate(transaction.revocationDate ?? notification.signedDate) });
      const refund = { cancelReason: "CUSTOMER_SUPPORT", isRefund: true, expiresAt: null, snapshot };
      return { type: "CANCELLATION", facts: { ...facts, ...refund } };
    }
    case "REFUND_REVERSED":
      return { type: "REFUND_REVERSED", facts };
    default:
      return undefined;
  }
}
