import type { PurchaseEvent } from "../events";
import type { PurchaseState } from "../purchase-state";
import { earliest, isTemporaryGrant, startOneTimePurchase, startPeriod } from "./periods";

/**
 * Replaces the state by the provider's. Keeps what it does not contain: reasons, the pending product, the refund and the
 * end of a one-time purchase, and entitlements. An expiry in the past does not end the purchase: the provider may not know
 * of the renewal yet.
 */
export function applySnapshot(state: PurchaseState, given: PurchaseEvent): Partial<PurchaseState> {
  const event = withKnownEnd(state, given);
  const { occurredAt, expiresAt, resumesAt, snapshot } = event;
  const isOnce = event.periodType === null;
  const period = isOnce ? startOneTimePurchase(state, event) : startPeriod(state, event);
  const refundedAt = snapshot?.refundedAt ?? (isOnce && !snapshot?.isRefundKnown ? state.refundedAt : null);
  const isRevoked = refundedAt !== null && (isOnce || expiresAt === null || expiresAt <= occurredAt);
  const endedAt = isRevoked ? earliest(expiresAt, refundedAt) : (snapshot?.endedAt ?? previousEnd(state, event));
  return {
    ...period,
    startedAt: snapshot?.startedAt ?? period.startedAt,
    currentPeriodStartsAt: snapshot?.periodStartsAt ?? periodStart(state, event) ?? period.currentPeriodStartsAt,
    pendingProductId: pendingProduct(state, event, period.productId ?? null),
    unsubscribedAt: since(event, state.unsubscribedAt, snapshot?.unsubscribedAt),
    cancelReason: snapshot?.unsubscribedAt || refundedAt ? (event.cancelReason ?? state.cancelReason) : null,
    billingIssueDetectedAt: since(event, knownIssue(state, event), snapshot?.billingIssueDetectedAt),
    gracePeriodEndsAt: graceEnd(state, event),
    pausedAt: resumesAt || snapshot?.isPausing ? (state.pausedAt ?? occurredAt) : null,
    resumesAt,
    endedAt,
    expirationReason: endedAt && (event.expirationReason ?? state.expirationReason),
    refundedAt,
    revocationType: event.revocationType,
    revocationPercentage: event.revocationPercentage,
    billingPlanType: event.billingPlanType,
    ...event.commitment,
  };
}

/** Stripe does not say since when a subscription is paused: what is read later does not move the end. */
function withKnownEnd({ endedAt }: PurchaseState, event: PurchaseEvent): PurchaseEvent {
  const { occurredAt, snapshot } = event;
  const isUndated = !isDated(event) && snapshot?.endedAt?.getTime() === occurredAt.getTime();
  if (!isUndated || endedAt === null || endedAt > occurredAt) return event;
  return { ...event, expiresAt: endedAt, snapshot: { ...snapshot, endedAt } };
}

/** An event without a period, such as the refund of a payment, leaves it as it is. */
function periodStart({ currentPeriodStartsAt }: PurchaseState, event: PurchaseEvent): Date | null {
  return event.purchasedAt === null && !isDated(event) ? currentPeriodStartsAt : null;
}

/** The product of the next period. Only some providers name it; one that equals the current product means no change. */
function pendingProduct(state: PurchaseState, { newProductId }: PurchaseEvent, productId: string | null) {
  if (newProductId === null) return state.pendingProductId;
  return newProductId === productId ? null : newProductId;
}

/** Whether the event says since when conditions hold, as RevenueCat's API does. The events of others have an order. */
const isDated = ({ order, type }: PurchaseEvent) => type === "SNAPSHOT" && order === null;

/** Since when a condition holds. An event may say only that it holds, so the first one counts. */
function since(event: PurchaseEvent, known: Date | null, given: Date | null | undefined): Date | null {
  if (!given) return null;
  return isDated(event) ? given : earliest(known, given);
}

/**
 * A payment that stays due has one grace period. The provider may begin further periods, which are not paid for either.
 */
function graceEnd(state: PurchaseState, event: PurchaseEvent): Date | null {
  const { gracePeriodEndsAt, snapshot } = event;
  const isSameIssue = knownIssue(state, event) !== null && snapshot?.billingIssueDetectedAt;
  if (gracePeriodEndsAt === null || !isSameIssue || isDated(event)) return gracePeriodEndsAt;
  return earliest(state.gracePeriodEndsAt, gracePeriodEndsAt);
}

/**
 * Since when a payment has been due; null if a later period was paid for, whose event is missing. A provider that begins a period
 * without a payment says that what was paid ended at its start.
 */
function knownIssue({ billingIssueDetectedAt, currentPeriodEndsAt }: PurchaseState, event: PurchaseEvent): Date | null {
  const { expiresAt, snapshot } = event;
  const startsAt = snapshot?.periodStartsAt;
  const isPaidPeriod = !!expiresAt && !!startsAt && startsAt < expiresAt;
  return isPaidPeriod && currentPeriodEndsAt && expiresAt > currentPeriodEndsAt ? null : billingIssueDetectedAt;
}

/** Returns the known end of the purchase, unless the snapshot shows a later period. A one-time purchase has none. */
function previousEnd(
  state: PurchaseState,
  { occurredAt, expiresAt, periodType, snapshot }: PurchaseEvent,
): Date | null {
  const { endedAt, currentPeriodEndsAt } = state;
  if (periodType === null && !isTemporaryGrant(state)) return snapshot?.isRefundKnown ? null : endedAt;
  if (endedAt === null || expiresAt === null || expiresAt > occurredAt) return null;
  const isSamePeriod = expiresAt <= endedAt || (currentPeriodEndsAt !== null && expiresAt <= currentPeriodEndsAt);
  return isSamePeriod ? endedAt : null;
}
