import type { PurchaseEvent, PurchaseEventType } from "../events";
import type { PurchaseState } from "../purchase-state";
import { endOf, isOneTime, moveEnd, startOneTimePurchase, startPeriod, startTemporaryGrant } from "./periods";
import { takeSnapshot } from "./snapshot";

type Effect = (state: PurchaseState, event: PurchaseEvent) => Partial<PurchaseState>;

/**
 * What each event does, and its rank among those of the same moment. `provesPeriod`: the event names the period that it
 * belongs to, which began even where no other event said so. A PRODUCT_CHANGE is informative only (RevenueCat,
 * "Upgrades, Downgrades, & Management").
 */
export const EVENTS: Record<PurchaseEventType, { rank: number; effect: Effect; provesPeriod?: true }> = {
  INITIAL_PURCHASE: { rank: 10, effect: startPeriod },
  NON_RENEWING_PURCHASE: { rank: 10, effect: startOneTimePurchase },
  TEMPORARY_ENTITLEMENT_GRANT: { rank: 10, effect: startTemporaryGrant },
  PRODUCT_CHANGE: { rank: 20, effect: changeProduct },
  RENEWAL: { rank: 30, effect: startPeriod },
  SUBSCRIPTION_EXTENDED: {
    rank: 35,
    provesPeriod: true,
    effect: (state, event) => ({ ...moveEnd(state, event), ...reopen(state, event) }),
  },
  UNCANCELLATION: {
    rank: 40,
    provesPeriod: true,
    effect: (state, event) => ({
      ...moveEnd(state, event),
      unsubscribedAt: null,
      cancelReason: state.refundedAt && state.cancelReason,
      pausedAt: null,
      resumesAt: null,
    }),
  },
  SUBSCRIPTION_PAUSED: {
    rank: 45,
    provesPeriod: true,
    effect: (state, event) => ({
      ...moveEnd(state, event),
      pausedAt: event.occurredAt,
      resumesAt: event.resumesAt,
    }),
  },
  BILLING_ISSUE: { rank: 50, effect: noteBillingIssue, provesPeriod: true },
  CANCELLATION: { rank: 60, effect: cancel, provesPeriod: true },
  EXPIRATION: {
    rank: 70,
    provesPeriod: true,
    effect: (state, event) => ({
      endedAt: endOf(state, event),
      expirationReason: event.expirationReason ?? state.expirationReason,
    }),
  },
  REFUND_REVERSED: {
    rank: 80,
    provesPeriod: true,
    effect: reverseRefund,
  },
  SNAPSHOT: { rank: 90, effect: takeSnapshot },
};

/**
 * Names the product that the purchase changes to with its next period. On Google Play an immediate change names none: the
 * new product is a purchase of its own, which takes this one's place.
 */
function changeProduct(state: PurchaseState, { newProductId }: PurchaseEvent): Partial<PurchaseState> {
  if (newProductId === null) return { isReplaceable: state.isReplaceable || state.periodType !== null };
  return { pendingProductId: newProductId === state.productId ? null : newProductId };
}

function cancel(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const { occurredAt, cancelReason } = event;
  if (cancelReason === "CUSTOMER_SUPPORT" || event.isRefund) return refund(state, event);
  if (cancelReason === "BILLING_ERROR") return noteBillingIssue(state, event);
  const end = isOneTime(state, event) ? { endedAt: endOf(state, event) } : moveEnd(state, event);
  return { ...end, unsubscribedAt: state.unsubscribedAt ?? occurredAt, cancelReason };
}

/** A refund need not end a subscription (RevenueCat, "Cancellation and Expiration Reasons"): the expiry says whether. */
function refund(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const { occurredAt, expiresAt, cancelReason } = event;
  const isRevoked = expiresAt === null || expiresAt <= occurredAt || isOneTime(state, event);
  if (isRevoked) return { refundedAt: occurredAt, cancelReason, endedAt: endOf(state, event) };
  return { ...moveEnd(state, event), refundedAt: state.refundedAt ?? occurredAt, cancelReason };
}

/** Gives the purchase back. One without any expiry is no subscription ("Event Types and Fields"): it is for life. */
function reverseRefund(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const hasExpiry = event.expiresAt !== null || state.currentPeriodEndsAt !== null;
  const isLifetime = state.isLifetime || (!hasExpiry && state.entitlementIds.length > 0);
  return {
    ...moveEnd(state, event),
    isLifetime,
    periodType: isLifetime ? null : state.periodType,
    refundedAt: null,
    cancelReason: state.unsubscribedAt && state.cancelReason,
    endedAt: null,
    expirationReason: null,
  };
}

/** A charge failed. In a grace period RevenueCat moves the expiry of its events beyond the end of the period. */
function noteBillingIssue(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const { expiresAt, occurredAt } = event;
  const end = state.currentPeriodEndsAt;
  const extendsAccess = end !== null && expiresAt !== null && expiresAt > end;
  const gracePeriodEndsAt = event.gracePeriodEndsAt ?? (extendsAccess ? expiresAt : state.gracePeriodEndsAt);
  return {
    ...(extendsAccess ? {} : moveEnd(state, event)),
    ...reopen(state, event),
    billingIssueDetectedAt: state.billingIssueDetectedAt ?? occurredAt,
    gracePeriodEndsAt,
  };
}

/**
 * Takes an end back where a newer event gives access beyond it: the purchase was taken to have ended since the provider, when
 * it was asked, had not heard yet of an extension or a grace period. Not the end that came with a refund.
 */
function reopen({ endedAt, refundedAt }: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const until = event.gracePeriodEndsAt ?? event.expiresAt;
  const isOpen = endedAt !== null && refundedAt === null && until !== null && until > event.occurredAt;
  return isOpen ? { endedAt: null, expirationReason: null } : {};
}
