import type { PurchaseEvent } from "../events";
import type { PurchaseState } from "../purchase-state";

const DAY_MS = 24 * 60 * 60 * 1000;

export const EMPTY: PurchaseState = {
  productId: null,
  pendingProductId: null,
  entitlementIds: [],
  periodType: null,
  isLifetime: false,
  isFamilyShare: false,
  isReplaceable: false,
  startedAt: null,
  currentPeriodStartsAt: null,
  currentPeriodEndsAt: null,
  gracePeriodEndsAt: null,
  unsubscribedAt: null,
  cancelReason: null,
  billingIssueDetectedAt: null,
  pausedAt: null,
  resumesAt: null,
  endedAt: null,
  expirationReason: null,
  refundedAt: null,
  lastEventAt: null,
};

/** The state that a purchase is in before its first known event: what that event says of the purchase. */
export function startFrom(event: PurchaseEvent): PurchaseState {
  const { purchasedAt } = event;
  return { ...EMPTY, ...startPeriod(EMPTY, event), startedAt: purchasedAt, currentPeriodStartsAt: purchasedAt };
}

/**
 * A period begins, paid or free: whatever was wrong with the period before is over. A member that the event does not
 * have stays known.
 */
export function startPeriod(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  return {
    ...EMPTY,
    productId: event.productId ?? state.productId,
    entitlementIds: event.entitlementIds ?? state.entitlementIds,
    periodType: event.periodType ?? "NORMAL",
    isFamilyShare: event.isFamilyShare ?? state.isFamilyShare,
    startedAt: (isTemporaryGrant(state) ? null : state.startedAt) ?? purchaseTime(event),
    currentPeriodStartsAt: purchaseTime(event),
    currentPeriodEndsAt: event.expiresAt ?? state.currentPeriodEndsAt,
  };
}

/** A purchase that does not renew: for life where it has entitlements and no expiry. */
export function startOneTimePurchase(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const period = startPeriod(state, event);
  const isLifetime = event.expiresAt === null && (period.entitlementIds?.length ?? 0) > 0;
  return { ...period, periodType: null, isLifetime, currentPeriodEndsAt: event.expiresAt };
}

/** RevenueCat promises that a temporary grant ends within a day. One that names no such end gets a day. */
export function startTemporaryGrant(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const latest = new Date(purchaseTime(event).getTime() + DAY_MS);
  return {
    ...startOneTimePurchase(state, { ...event, expiresAt: earliest(event.expiresAt, latest) }),
    isReplaceable: true,
  };
}

/** Whether a temporary grant is all that is known of a purchase. */
export function isTemporaryGrant({ periodType, isReplaceable }: PurchaseState): boolean {
  return periodType === null && isReplaceable;
}

/** Whether a purchase does not renew: it was bought once, or granted by the developer. */
export function isOneTime(state: PurchaseState, event: PurchaseEvent): boolean {
  return state.periodType === null || state.periodType === "PROMOTIONAL" || event.periodType === "PROMOTIONAL";
}

/** `expiration_at_ms` of the newest event says until when there is access. */
export function moveEnd(state: PurchaseState, { expiresAt }: PurchaseEvent): Partial<PurchaseState> {
  return { currentPeriodEndsAt: expiresAt ?? state.currentPeriodEndsAt };
}

/** When access ends that an event takes away: at an expiry in the past, else when it happened; never later than known. */
export function endOf(state: PurchaseState, { occurredAt, expiresAt }: PurchaseEvent): Date {
  return earliest(state.endedAt, earliest(expiresAt, occurredAt));
}

/** The earlier of two times; the second where there is no first. */
export function earliest(a: Date | null, b: Date): Date {
  return a && a < b ? a : b;
}

export const purchaseTime = ({ purchasedAt, occurredAt }: PurchaseEvent) => purchasedAt ?? occurredAt;
