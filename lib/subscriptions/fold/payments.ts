import type { PurchaseEvent } from "../events";

const NO_CONDITIONS = { unsubscribedAt: null, billingIssueDetectedAt: null, refundedAt: null, endedAt: null };

/**
 * Decides by the amounts which of a payment's refunds makes it refunded as a whole, and which reversal ends that. Takes
 * sorted events and returns them in the same order. A refund counts once, with its first event.
 */
export function applyAmounts<Event extends PurchaseEvent>(events: Event[]): Event[] {
  const total = BigInt(events.findLast(({ payment }) => payment?.total)?.payment?.total ?? 0);
  const whole = total || 1n;
  const known = new Set<string>();
  let refunded = 0n;
  return events.map((event) => {
    const refund = event.payment?.refund;
    if (!refund) return event;
    const isReversal = event.type === "REFUND_REVERSED";
    const wasRefunded = refunded >= whole;
    // Without the payment's amount, only a refund of the whole counts.
    const share = refund.isFull ? whole : total && BigInt(refund.amount ?? 0);
    const key = `${isReversal} ${refund.id}`;
    if (!known.has(key)) refunded += isReversal ? -min(share, refunded) : share;
    known.add(key);
    const isRefunded = refunded >= whole;
    if (isReversal && !isRefunded) return event;
    return {
      ...event,
      snapshot: { ...NO_CONDITIONS, refundedAt: isRefunded && !wasRefunded ? event.occurredAt : null },
    };
  });
}

const min = (a: bigint, b: bigint) => (a < b ? a : b);
