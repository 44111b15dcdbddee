import type { Payload } from "./purchase-history";

const BEGINS = new Set(["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "REFUND_REVERSED"]);

/**
 * What a purchase gives access to at a moment after these events, by RevenueCat's description of their fields alone ("Webhooks",
 * Event Types and Fields): the newest purchase counts; `expiration_at_ms` and `grace_period_expiration_at_ms` say until
 * when; an EXPIRATION, or a CANCELLATION that takes the purchase away, ends it, until a refund is reversed.
 */
export function documentedAccess(delivered: Payload[], atMs: number): string[] {
  const known = decisiveEvents(delivered).toSorted(
    (a, b) =>
      a.purchased_at_ms - b.purchased_at_ms || a.event_timestamp_ms - b.event_timestamp_ms || (a.id < b.id ? -1 : 1),
  );
  const last = known.at(-1);
  if (!last) return [];
  const isOneTime = delivered.some(({ type }) => type === "NON_RENEWING_PURCHASE");
  const period = known.filter(({ purchased_at_ms }) => purchased_at_ms === last.purchased_at_ms);
  const turn = period.findLast((event) => BEGINS.has(event.type) || takesAway(event, isOneTime));
  if (turn && takesAway(turn, isOneTime)) return [];
  const untilMs = Math.max(
    last.expiration_at_ms ?? Number.POSITIVE_INFINITY,
    ...period.map((event) => event.grace_period_expiration_at_ms ?? 0),
  );
  return atMs < untilMs ? (last.entitlement_ids ?? []) : [];
}

/** A PRODUCT_CHANGE is informative, and a temporary grant stands until anything is known of the purchase. */
function decisiveEvents(delivered: Payload[]): Payload[] {
  const grants = delivered.filter(({ type }) => type === "TEMPORARY_ENTITLEMENT_GRANT");
  const others = delivered.filter(({ type }) => type !== "TEMPORARY_ENTITLEMENT_GRANT" && type !== "PRODUCT_CHANGE");
  if (others.length > 0) return others;
  return grants.length > 0 ? grants : delivered.slice(0, 1);
}

function takesAway(event: Payload, isOneTime: boolean): boolean {
  if (event.type !== "CANCELLATION") return event.type === "EXPIRATION";
  if (event.period_type === "PROMOTIONAL") return true;
  const isPast = event.expiration_at_ms === null || event.expiration_at_ms <= event.event_timestamp_ms;
  return event.cancel_reason === "CUSTOMER_SUPPORT" && (isOneTime || isPast);
}
