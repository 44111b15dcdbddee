import type { PurchaseEvent } from "../events";
import type { PurchaseState } from "../purchase-state";
import { EVENTS } from "./effects";
import { EMPTY, isTemporaryGrant, purchaseTime, startFrom, startOneTimePurchase, startPeriod } from "./periods";

/**
 * Folds the events of a purchase, in whatever order they arrived, into its state. A purchase whose purchase is not known starts
 * from the fields of its first known event. Two events with the same id count once.
 */
export function foldPurchase(events: PurchaseEvent[]): PurchaseState {
  const unique = [...new Map(events.map((event) => [event.id, event])).values()];
  let state: PurchaseState | null = null;
  for (const event of unique.toSorted(compareEvents)) {
    const before: PurchaseState = state ? startMissedPeriod(state, event) : startFrom(event);
    state = { ...before, ...EVENTS[event.type].effect(before, event), lastEventAt: later(before.lastEventAt, event) };
  }
  return state ?? EMPTY;
}

/** A temporary grant comes first: the store's time of the purchase that takes its place may be earlier than its own. */
function compareEvents(a: PurchaseEvent, b: PurchaseEvent): number {
  return (
    Number(isGrant(b)) - Number(isGrant(a)) ||
    purchaseTime(a).getTime() - purchaseTime(b).getTime() ||
    a.occurredAt.getTime() - b.occurredAt.getTime() ||
    EVENTS[a.type].rank - EVENTS[b.type].rank ||
    (a.id < b.id ? -1 : 1)
  );
}

const isGrant = ({ type }: PurchaseEvent) => type === "TEMPORARY_ENTITLEMENT_GRANT";

/**
 * The state with the period that an event belongs to, where that is newer than the known one: its RENEWAL was lost. An
 * event about a temporary grant's transaction, other than its EXPIRATION, belongs to the purchase that was validated.
 */
function startMissedPeriod(state: PurchaseState, event: PurchaseEvent): PurchaseState {
  if (!EVENTS[event.type].provesPeriod) return state;
  if (isTemporaryGrant(state)) return event.type === "EXPIRATION" ? state : { ...state, ...startPeriod(state, event) };
  const { currentPeriodStartsAt: start } = state;
  if (event.purchasedAt === null || (start !== null && event.purchasedAt <= start)) return state;
  return { ...state, ...(state.periodType === null ? startOneTimePurchase(state, event) : startPeriod(state, event)) };
}

const later = (time: Date | null, { occurredAt }: PurchaseEvent) => (time && time > occurredAt ? time : occurredAt);
