import type { PurchaseEvent, PurchaseEventType } from "../events";
import type { PurchaseState } from "../purchase-state";
import { applySnapshot } from "./apply-snapshot";
import { accessEndOf, isOneTime, setExpiry, startOneTimePurchase, startPeriod, startTemporaryGrant } from "./periods";

type Effect = (state: PurchaseState, event: PurchaseEvent) => Partial<PurchaseState>;

/**
 * The effect of each type of event, and its rank among events of the same time. `hasPeriod`: the event contains the
 * period that it belongs to, which therefore has started even if the event of its start was lost. A PRODUCT_CHANGE is
 * informative only (RevenueCat, "Upgrades, Downgrades, & Management").
 */
export const EVENT_EFFECTS: Record<PurchaseEventType, { rank: number; effect: Effect; hasPeriod?: true }> = {
  INITIAL_PURCHASE: { rank: 10, effect: startPeriod },
  NON_RENEWING_PURCHASE: { rank: 10, effect: startOneTimePurchase },
  TEMPORARY_ENTITLEMENT_GRANT: { rank: 10, effect: startTemporaryGrant },
  GRANT: { rank: 10, effect: startOneTimePurchase },
  PRODUCT_CHANGE: { rank: 20, effect: changeProduct },
  RENEWAL: { rank: 30, effect: startPeriod },
  SUBSCRIPTION_EXTENDED: {
    rank: 35,
    hasPeriod: true,
    effect: (state, event) => ({ ...setExpiry(state, event), ...reopen(state, event) }),
  },
  UNCANCELLATION: {
    rank: 40,
    hasPeriod: true,
    effect: (state, event) => ({
      ...setExpiry(state, event),
      unsubscribedAt: null,
      cancelReason: state.refundedAt && state.cancelReason,
      pausedAt: null,
      resumesAt: null,
    }),
  },
  SUBSCRIPTION_PAUSED: {
    rank: 45,
    hasPeriod: true,
    effect: (state, event) => ({ ...setExpiry(state, event), pausedAt: event.occurredAt, resumesAt: event.resumesAt }),
  },
  BILLING_ISSUE: { rank: 50, effect: recordBillingIssue, hasPeriod: true },
  CANCELLATION: { rank: 60, effect: cancel, hasPeriod: true },
  EXPIRATION: { rank: 70, effect: expire, hasPeriod: true },
  GRANT_ENDED: { rank: 70, effect: expire, hasPeriod: true },
  PARTIAL_REFUND: { rank: 60, effect: () => ({}) },
  REFUND_REVERSED: { rank: 80, hasPeriod: true, effect: reverseRefund },
  SNAPSHOT: { rank: 90, effect: applySnapshot },
  IMPORT: { rank: 90, effect: applySnapshot },
};

/**
 * Stores the product of the next period. An immediate change on Google Play names no product: the new product is another
 * purchase, which replaces this one.
 */
function changeProduct(state: PurchaseState, { newProductId }: PurchaseEvent): Partial<PurchaseState> {
  if (newProductId === null) return { isReplaceable: state.isReplaceable || state.periodType !== null };
  return { pendingProductId: newProductId === state.productId ? null : newProductId };
}

function cancel(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const { occurredAt, cancelReason } = event;
  if (cancelReason === "CUSTOMER_SUPPORT" || event.isRefund) return refund(state, event);
  if (cancelReason === "BILLING_ERROR") return recordBillingIssue(state, event);
  const end = isOneTime(state, event) ? { endedAt: accessEndOf(state, event) } : setExpiry(state, event);
  return { ...end, ...withoutPause(cancelReason), unsubscribedAt: state.unsubscribedAt ?? occurredAt, cancelReason };
}

function expire(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  return {
    endedAt: accessEndOf(state, event),
    expirationReason: event.expirationReason ?? state.expirationReason,
    ...withoutPause(event.expirationReason),
  };
}

/** What ends for another reason than a pause does not resume. */
function withoutPause(reason: string | null): Partial<PurchaseState> {
  return reason === null || reason === "SUBSCRIPTION_PAUSED" ? {} : { pausedAt: null, resumesAt: null };
}

/** A refund ends a subscription only if the expiry has passed (RevenueCat, "Cancellation and Expiration Reasons"). */
function refund(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const { occurredAt, expiresAt, cancelReason } = event;
  const isRevoked = expiresAt === null || expiresAt <= occurredAt || isOneTime(state, event);
  if (isRevoked) return { refundedAt: occurredAt, cancelReason, endedAt: accessEndOf(state, event) };
  return { ...setExpiry(state, event), refundedAt: state.refundedAt ?? occurredAt, cancelReason };
}

/**
 * Restores access. A purchase without an expiry is a one-time purchase, not a subscription ("Event Types and Fields").
 */
function reverseRefund(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const hasExpiry = event.expiresAt !== null || state.currentPeriodEndsAt !== null;
  const isLifetime = state.isLifetime || (!hasExpiry && state.entitlementIds.length > 0);
  return {
    ...setExpiry(state, event),
    isLifetime,
    periodType: isLifetime || !hasExpiry ? null : state.periodType,
    refundedAt: null,
    revocationType: null,
    revocationPercentage: null,
    cancelReason: state.unsubscribedAt && state.cancelReason,
    endedAt: null,
    expirationReason: null,
  };
}

/** Records a failed charge. In a grace period the expiry in RevenueCat's events is after the end of the period. */
function recordBillingIssue(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const { expiresAt, occurredAt } = event;
  const end = state.currentPeriodEndsAt;
  const extendsAccess = end !== null && expiresAt !== null && expiresAt > end;
  const gracePeriodEndsAt = event.gracePeriodEndsAt ?? (extendsAccess ? expiresAt : state.gracePeriodEndsAt);
  return {
    ...(extendsAccess ? {} : setExpiry(state, event)),
    ...reopen(state, event),
    billingIssueDetectedAt: state.billingIssueDetectedAt ?? occurredAt,
    gracePeriodEndsAt,
  };
}

/**
 * Clears the end of access if a newer event extends access beyond it: a reconciliation had ended the purchase before the
 * provider learned of an extension or a grace period. Does not clear the end by a refund.
 */
function reopen({ endedAt, refundedAt }: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const until = event.gracePeriodEndsAt ?? event.expiresAt;
  const isOpen = endedAt !== null && refundedAt === null && until !== null && until > event.occurredAt;
  return isOpen ? { endedAt: null, expirationReason: null } : {};
}
