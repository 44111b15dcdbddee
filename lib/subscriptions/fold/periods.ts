import type { PurchaseEvent } from "../events";
import { PurchaseState } from "../purchase-state";

const DAY_MS = 24 * 60 * 60 * 1000;

const NOTHING = Object.fromEntries(Object.keys(PurchaseState.shape).map((name) => [name, null]));
const NO_FLAGS = { isLifetime: false, isFamilyShare: false, isReplaceable: false };
export const EMPTY_STATE = PurchaseState.parse({ ...NOTHING, ...NO_FLAGS, entitlementIds: [] });

/** Returns the state before a purchase's first event, from the fields of that event. */
export function initialState(event: PurchaseEvent): PurchaseState {
  const startedAt = event.purchasedAt;
  return { ...EMPTY_STATE, ...startPeriod(EMPTY_STATE, event), startedAt, currentPeriodStartsAt: startedAt };
}

/** Starts a period, and clears the problems of the previous one. Fields that the event does not have are kept. */
export function startPeriod(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  return {
    ...EMPTY_STATE,
    productId: event.productId ?? state.productId,
    entitlementIds: event.entitlementIds ?? state.entitlementIds,
    periodType: event.periodType ?? "NORMAL",
    isFamilyShare: event.isFamilyShare ?? state.isFamilyShare,
    startedAt: (isTemporaryGrant(state) ? null : state.startedAt) ?? purchaseTime(event),
    currentPeriodStartsAt: purchaseTime(event),
    currentPeriodEndsAt: event.expiresAt ?? state.currentPeriodEndsAt,
  };
}

/** Starts a purchase that does not renew. With entitlements and without an expiry, it is a lifetime purchase. */
export function startOneTimePurchase(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const period = startPeriod(state, event);
  const isLifetime = event.expiresAt === null && (period.entitlementIds?.length ?? 0) > 0;
  return { ...period, periodType: null, isLifetime, currentPeriodEndsAt: event.expiresAt };
}

/** Starts a temporary grant, which lasts at most 24 hours, as RevenueCat documents. */
export function startTemporaryGrant(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const latest = new Date(purchaseTime(event).getTime() + DAY_MS);
  return {
    ...startOneTimePurchase(state, { ...event, expiresAt: earliest(event.expiresAt, latest) }),
    isReplaceable: true,
  };
}

/** Whether the purchase's only event is a temporary grant. */
export function isTemporaryGrant({ periodType, isReplaceable }: PurchaseState): boolean {
  return periodType === null && isReplaceable;
}

/** Whether a purchase does not renew: a one-time purchase, or one that the developer granted. */
export function isOneTime(state: PurchaseState, event: PurchaseEvent): boolean {
  return state.periodType === null || state.periodType === "PROMOTIONAL" || event.periodType === "PROMOTIONAL";
}

/** Sets the end of the period to the expiry of the newest event that has one. */
export function setExpiry(state: PurchaseState, { expiresAt }: PurchaseEvent): Partial<PurchaseState> {
  return { currentPeriodEndsAt: expiresAt ?? state.currentPeriodEndsAt };
}

/** Returns when an event ends access: at its expiry if that has passed, else at once; never later than a known end. */
export function accessEndOf(state: PurchaseState, { occurredAt, expiresAt }: PurchaseEvent): Date {
  return earliest(state.endedAt, earliest(expiresAt, occurredAt));
}

/** Returns the earlier of two times. */
export function earliest(a: Date | null, b: Date): Date {
  return a && a < b ? a : b;
}

export const purchaseTime = ({ purchasedAt, occurredAt }: PurchaseEvent) => purchasedAt ?? occurredAt;
