import type { LineEvent, LineEventType } from "./events";
import type { LineState } from "./line-state";

type Effect = (state: LineState, event: LineEvent) => Partial<LineState>;

/** Each event's place among those of one moment, and what it does. */
const EVENTS: Record<LineEventType, { rank: number; effect: Effect }> = {
  INITIAL_PURCHASE: { rank: 10, effect: startPeriod },
  NON_RENEWING_PURCHASE: { rank: 10, effect: buyOnce },
  TEMPORARY_ENTITLEMENT_GRANT: {
    rank: 10,
    effect: (state, event) => buyOnce(state, { ...event, expiresAt: withinADay(event) }),
  },
  PRODUCT_CHANGE: {
    rank: 20,
    effect: (state, { newProductId }) => ({
      pendingProductId: newProductId === state.productId ? null : (newProductId ?? state.pendingProductId),
    }),
  },
  RENEWAL: { rank: 30, effect: startPeriod },
  SUBSCRIPTION_EXTENDED: { rank: 35, effect: moveEnd },
  UNCANCELLATION: {
    rank: 40,
    effect: (state) => ({
      unsubscribedAt: null,
      cancelReason: state.refundedAt && state.cancelReason,
      pausedAt: null,
      resumesAt: null,
    }),
  },
  SUBSCRIPTION_PAUSED: {
    rank: 45,
    effect: (_, { occurredAt, resumesAt }) => ({ pausedAt: occurredAt, resumesAt }),
  },
  BILLING_ISSUE: { rank: 50, effect: noteBillingIssue },
  CANCELLATION: { rank: 60, effect: cancel },
  EXPIRATION: {
    rank: 70,
    effect: (_, { occurredAt, expiresAt, expirationReason }) => ({
      endedAt: expiresAt && expiresAt < occurredAt ? expiresAt : occurredAt,
      expirationReason,
    }),
  },
  REFUND_REVERSED: {
    rank: 80,
    effect: (state, event) => ({
      ...moveEnd(state, event),
      refundedAt: null,
      cancelReason: state.unsubscribedAt && state.cancelReason,
      endedAt: null,
      expirationReason: null,
    }),
  },
  SNAPSHOT: { rank: 90, effect: takeSnapshot },
};

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Folds a line's events, in whatever order they came, into its state. A line whose purchase was never heard of
 * starts from what its first event says. Two events with one id count once.
 */
export function foldLine(events: LineEvent[]): LineState {
  const unique = [...new Map(events.map((event) => [event.id, event])).values()];
  let state: LineState | null = null;
  for (const event of unique.toSorted(compareEvents)) {
    const before: LineState = state ?? startFrom(event);
    state = { ...before, ...EVENTS[event.type].effect(before, event), lastEventAt: later(before.lastEventAt, event) };
  }
  return state ?? EMPTY;
}

function compareEvents(a: LineEvent, b: LineEvent): number {
  return (
    purchaseTime(a).getTime() - purchaseTime(b).getTime() ||
    a.occurredAt.getTime() - b.occurredAt.getTime() ||
    EVENTS[a.type].rank - EVENTS[b.type].rank ||
    (a.id < b.id ? -1 : 1)
  );
}

const EMPTY: LineState = {
  productId: null,
  pendingProductId: null,
  entitlementIds: [],
  periodType: null,
  isLifetime: false,
  isFamilyShare: false,
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

function startFrom(event: LineEvent): LineState {
  return {
    ...EMPTY,
    productId: event.productId,
    entitlementIds: event.entitlementIds ?? [],
    periodType: event.periodType ?? "NORMAL",
    isFamilyShare: event.isFamilyShare ?? false,
    startedAt: event.purchasedAt,
    currentPeriodStartsAt: event.purchasedAt,
    currentPeriodEndsAt: event.expiresAt,
  };
}

/** A paid (or free) period begins: all that went wrong before is over. What the event leaves out stays known. */
function startPeriod(state: LineState, event: LineEvent): Partial<LineState> {
  const productId = event.productId ?? state.productId;
  return {
    ...EMPTY,
    productId,
    entitlementIds: event.entitlementIds ?? (productId === state.productId ? state.entitlementIds : []),
    periodType: event.periodType ?? "NORMAL",
    isFamilyShare: event.isFamilyShare ?? state.isFamilyShare,
    startedAt: state.startedAt ?? purchaseTime(event),
    currentPeriodStartsAt: purchaseTime(event),
    currentPeriodEndsAt: event.expiresAt ?? state.currentPeriodEndsAt,
  };
}

function buyOnce(state: LineState, event: LineEvent): Partial<LineState> {
  const bought = startPeriod(state, event);
  const isLifetime = event.expiresAt === null && (bought.entitlementIds?.length ?? 0) > 0;
  return { ...bought, periodType: null, isLifetime, currentPeriodEndsAt: event.expiresAt };
}

/** Money back ends access at once; a failed charge does not; anything else ends it with the period. */
function cancel(state: LineState, event: LineEvent): Partial<LineState> {
  const { occurredAt, cancelReason } = event;
  if (cancelReason === "CUSTOMER_SUPPORT" || event.isRefund) {
    return { refundedAt: state.refundedAt ?? occurredAt, cancelReason };
  }
  if (cancelReason === "BILLING_ERROR") return noteBillingIssue(state, event);
  return { unsubscribedAt: state.unsubscribedAt ?? occurredAt, cancelReason };
}

function noteBillingIssue(state: LineState, event: LineEvent): Partial<LineState> {
  return {
    billingIssueDetectedAt: state.billingIssueDetectedAt ?? event.occurredAt,
    gracePeriodEndsAt: event.gracePeriodEndsAt ?? state.gracePeriodEndsAt,
  };
}

function moveEnd(state: LineState, { expiresAt }: LineEvent): Partial<LineState> {
  return { currentPeriodEndsAt: expiresAt ?? state.currentPeriodEndsAt };
}

/**
 * The provider's own word on the line at a moment. What it does not speak of stays known: the reasons, a product to
 * come, the entitlements where it names none, and the refund of a one-time purchase. An expiry in the past ends
 * nothing by itself: the provider may not have heard of the renewal yet.
 */
export function takeSnapshot(state: LineState, event: LineEvent): Partial<LineState> {
  const { occurredAt, gracePeriodEndsAt, resumesAt, snapshot } = event;
  const isOnce = event.periodType === null;
  const period = isOnce ? buyOnce(state, event) : startPeriod(state, event);
  const refundedAt = snapshot?.refundedAt ?? (isOnce ? state.refundedAt : null);
  const endedAt = snapshot?.endedAt ?? knownEnd(state, event);
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

/** When the line ended, where a snapshot shows no period after that end. */
function knownEnd({ endedAt, currentPeriodEndsAt }: LineState, { occurredAt, expiresAt }: LineEvent): Date | null {
  if (endedAt === null || expiresAt === null || expiresAt > occurredAt) return null;
  const isSamePeriod = expiresAt <= endedAt || (currentPeriodEndsAt !== null && expiresAt <= currentPeriodEndsAt);
  return isSamePeriod ? endedAt : null;
}

/** RevenueCat promises that a grant ends within a day; a day is what it gets. */
function withinADay(event: LineEvent): Date {
  const latest = new Date(purchaseTime(event).getTime() + DAY_MS);
  return event.expiresAt && event.expiresAt < latest ? event.expiresAt : latest;
}

const purchaseTime = ({ purchasedAt, occurredAt }: LineEvent) => purchasedAt ?? occurredAt;

const later = (time: Date | null, { occurredAt }: LineEvent) => (time && time > occurredAt ? time : occurredAt);
