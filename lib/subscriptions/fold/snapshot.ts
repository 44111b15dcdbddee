import type { PurchaseEvent } from "../events";
import type { PurchaseState } from "../purchase-state";
import { earliest, startOneTimePurchase, startPeriod } from "./periods";

/**
 * The provider's own word on the purchase at a moment. What it does not speak of stays known: the reasons, a product to
 * come, the entitlements where it names none, and the refund of a one-time purchase. An expiry in the past ends
 * nothing by itself: the provider may not have heard of the renewal yet.
 */
export function takeSnapshot(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const { occurredAt, expiresAt, gracePeriodEndsAt, resumesAt, snapshot } = event;
  const isOnce = event.periodType === null;
  const period = isOnce ? startOneTimePurchase(state, event) : startPeriod(state, event);
  const refundedAt = snapshot?.refundedAt ?? (isOnce ? state.refundedAt : null);
  const isRevoked = refundedAt !== null && (expiresAt === null || expiresAt <= occurredAt);
  const endedAt = isRevoked ? earliest(expiresAt, refundedAt) : (snapshot?.endedAt ?? knownEnd(state, event));
  return {
    ...period,
    pendingProductId: state.pendingProductId,
    unsubscribedAt: snapshot?.unsubscribedAt ?? null,
    cancelReason: snapshot?.unsubscribedAt || refundedAt ? state.cancelReason : null,
    billingIssueDetectedAt: snapshot?.billingIssueDetectedAt ?? null,
    gracePeriodEndsAt,
    pausedAt: resumesAt && (state.pausedAt ?? occurredAt),
    resumesAt,
    endedAt,
    expirationReason: endedAt && state.expirationReason,
    refundedAt,
  };
}

/** When the purchase ended, where a snapshot shows no period after that end. */
function knownEnd(
  { endedAt, currentPeriodEndsAt }: PurchaseState,
  { occurredAt, expiresAt }: PurchaseEvent,
): Date | null {
  if (endedAt === null || expiresAt === null || expiresAt > occurredAt) return null;
  const isSamePeriod = expiresAt <= endedAt || (currentPeriodEndsAt !== null && expiresAt <= currentPeriodEndsAt);
  return isSamePeriod ? endedAt : null;
}
