import type { PurchaseEvent } from "../events";
import type { PurchaseState } from "../purchase-state";
import { EVENT_EFFECTS } from "./event-effects";
import {
  EMPTY_STATE,
  initialState,
  isTemporaryGrant,
  purchaseTime,
  startOneTimePurchase,
  startPeriod,
} from "./periods";

const NO_CONDITIONS = { unsubscribedAt: null, billingIssueDetectedAt: null, refundedAt: null, endedAt: null };

/**
 * Decides by the amounts which of a payment's refunds makes it refunded as a whole, and which reversal ends that. Takes
 * sorted events and returns them in the same order. A refund counts once, with its first event.
 */
function applyAmounts<Event extends PurchaseEvent>(events: Event[]): Event[] {
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
    const refundedAt = isRefunded && !wasRefunded ? event.occurredAt : null;
    return { ...event, snapshot: { ...NO_CONDITIONS, refundedAt } };
  });
}

const min = (a: bigint, b: bigint) => (a < b ? a : b);

/**
 * One event's place in the fold. `before` is null for the first event. `isPeriodMissed`: the event is the first of its
 * period, whose own event is missing.
 */
export type FoldStep<Event extends PurchaseEvent = PurchaseEvent> = {
  event: Event;
  before: PurchaseState | null;
  after: PurchaseState;
  isPeriodMissed: boolean;
};

/**
 * Folds the events of a purchase into its state, in any order of arrival. If the event of the first purchase is missing,
 * the state starts from the fields of the first event. Events with the same id count once.
 */
export function foldPurchase(events: PurchaseEvent[]): PurchaseState {
  return foldSteps(events).at(-1)?.after ?? EMPTY_STATE;
}

/** The steps by which events fold to a state, in the order in which they count. */
export function foldSteps<Event extends PurchaseEvent>(events: Event[]): FoldStep<Event>[] {
  const unique = withExactPeriods([...new Map(events.map((event) => [event.id, event])).values()]);
  const steps: FoldStep<Event>[] = [];
  for (const event of applyAmounts(chainStates(unique.toSorted(compareEvents)))) {
    const before: PurchaseState | null = steps.at(-1)?.after ?? null;
    const started = before ? startMissedPeriod(before, event) : initialState(event);
    const { effect } = effectOf(event);
    const appTransactionId = event.appTransactionId ?? started.appTransactionId;
    const lastEventAt = later(started.lastEventAt, event);
    const after = { ...started, ...effect(started, event), appTransactionId, lastEventAt };
    steps.push({ event, before, after, isPeriodMissed: before !== null && started !== before });
  }
  return steps;
}

/**
 * Sorts by the time of purchase. A temporary grant is first: the store's time of the validated purchase may be earlier. A
 * one-time purchase precedes its other events, since RevenueCat may make its event after that of its refund. Events of one
 * instant are ranked by their type, but for those with the whole state: of these, the last to arrive counts. What a provider
 * was asked for in the millisecond in which an event arrived may be from before the event.
 */
function compareEvents(a: PurchaseEvent, b: PurchaseEvent): number {
  return (
    Number(isGrant(b)) - Number(isGrant(a)) ||
    purchaseTime(a).getTime() - purchaseTime(b).getTime() ||
    Number(isOneTimePurchase(b)) - Number(isOneTimePurchase(a)) ||
    a.occurredAt.getTime() - b.occurredAt.getTime() ||
    (a.order?.nanoseconds ?? 0) - (b.order?.nanoseconds ?? 0) ||
    effectOf(a).rank - effectOf(b).rank ||
    (a.order?.receivedAt?.getTime() ?? 0) - (b.order?.receivedAt?.getTime() ?? 0) ||
    Number(b.type === "SNAPSHOT") - Number(a.type === "SNAPSHOT") ||
    (a.id < b.id ? -1 : 1)
  );
}

/** An event with the purchase's whole state replaces the state, whatever its type. */
const effectOf = ({ snapshot, type }: PurchaseEvent) => EVENT_EFFECTS[snapshot ? "SNAPSHOT" : type];

/**
 * Puts sorted events of one instant into the order in which their states replaced each other: each follows the event whose
 * state it replaced. Keeps the given order where the states do not say.
 */
function chainStates<Event extends PurchaseEvent>(sorted: Event[]): Event[] {
  const chained: Event[] = [];
  for (let start = 0; start < sorted.length; ) {
    const end = sorted.findIndex((one, i) => i > start && !isSameInstant(one, sorted[start] as Event));
    const rest = sorted.slice(start, end < 0 ? sorted.length : end);
    start += rest.length;
    while (rest.length > 0) chained.push(...rest.splice(nextIndex(rest, chained.at(-1)?.order?.state ?? null), 1));
  }
  return chained;
}

function isSameInstant(a: PurchaseEvent, b: PurchaseEvent): boolean {
  const haveStates = (a.order?.state ?? null) !== null && (b.order?.state ?? null) !== null;
  return haveStates && a.occurredAt.getTime() === b.occurredAt.getTime();
}

/** Which of some events of one instant comes next after a state, or first if none of them replaced it. */
function nextIndex(events: readonly PurchaseEvent[], state: string | null): number {
  const replaced = (event: PurchaseEvent) => event.order?.replacedState ?? null;
  const isFirst = (event: PurchaseEvent) =>
    replaced(event) !== null && !events.some((other) => other !== event && other.order?.state === replaced(event));
  const following = events.findIndex((event) => state !== null && replaced(event) === state);
  const first = following < 0 ? events.findIndex(isFirst) : following;
  return Math.max(first, 0);
}

/** An API may return whole seconds. An import is of the period whose start other events name to the millisecond. */
function withExactPeriods<Event extends PurchaseEvent>(events: Event[]): Event[] {
  const secondOf = (time: Date) => Math.floor(time.getTime() / 1000);
  return events.map((event) => {
    const { purchasedAt, type } = event;
    if (type !== "IMPORT" || purchasedAt === null) return event;
    const exact = events.flatMap((other) =>
      other.purchasedAt && secondOf(other.purchasedAt) === secondOf(purchasedAt) ? other.purchasedAt : [],
    );
    return { ...event, purchasedAt: new Date(Math.max(...exact.map((time) => time.getTime()))) };
  });
}

const isGrant = ({ type }: PurchaseEvent) => type === "TEMPORARY_ENTITLEMENT_GRANT";
const isOneTimePurchase = ({ type }: PurchaseEvent) => type === "NON_RENEWING_PURCHASE" || type === "GRANT";

/**
 * Starts the period of an event if it is newer than the state's: its RENEWAL was lost. An event of a temporary grant's
 * transaction, other than EXPIRATION, belongs to the validated purchase.
 */
function startMissedPeriod(state: PurchaseState, event: PurchaseEvent): PurchaseState {
  if (!EVENT_EFFECTS[event.type].hasPeriod || event.snapshot) return state;
  if (isTemporaryGrant(state)) return event.type === "EXPIRATION" ? state : { ...state, ...startPeriod(state, event) };
  const { currentPeriodStartsAt: start } = state;
  if (event.purchasedAt === null || (start !== null && event.purchasedAt <= start)) return state;
  return { ...state, ...(state.periodType === null ? startOneTimePurchase(state, event) : startPeriod(state, event)) };
}

const later = (time: Date | null, { occurredAt }: PurchaseEvent) => (time && time > occurredAt ? time : occurredAt);
