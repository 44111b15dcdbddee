import type { PurchaseEvent } from "../events";
import type { PurchaseState } from "../purchase-state";
import { earliest, startOneTimePurchase, startPeriod } from "./periods";

/**
 * Replaces the state by the provider's. Keeps what the API does not return: the reasons, the pending product, the refund
 * of a one-time purchase, and the entitlements if the response has none. An expiry in the past does not end the purchase:
 * the provider may not know of the renewal yet.
 */
export function applySnapshot(state: PurchaseState, event: PurchaseEvent): Partial<PurchaseState> {
  const { occurredAt, expiresAt, gracePeriodEndsAt, resumesAt, snapshot } = event;
  const isOnce = event.periodType === null;
  const period = isOnce ? startOneTimePurchase(state, event) : startPeriod(state, event);
  const refundedAt = snapshot?.refundedAt ?? (isOnce ? state.refundedAt : null);
  const isRevoked = refundedAt !== null && (expiresAt === null || expiresAt <= occurredAt);
  const endedAt = isRevoked ? earliest(expiresAt, refundedAt) : (snapshot?.endedAt ?? previousEnd(state, event));
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

/** Returns the known end of the purchase, unless the snapshot shows a later period. */
function previousEnd(
  { endedAt, currentPeriodEndsAt }: PurchaseState,
  { occurredAt, expiresAt }: PurchaseEvent,
): Date | null {
  if (endedAt === null || expiresAt === null || expiresAt > occurredAt) return null;
  const isSamePeriod = expiresAt <= endedAt || (currentPeriodEndsAt !== null && expiresAt <= currentPeriodEndsAt);
  return isSamePeriod ? endedAt : null;
}
