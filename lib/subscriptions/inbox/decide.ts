import { EventFacts, IdentityEventType, PurchaseEventType } from "../events";
import { HOMEPORT } from "../providers/find-provider";
import type { StoredPurchase } from "../purchase-state";
import type { EventRow } from "./store";

export type PurchaseKey = Pick<StoredPurchase, "provider" | "environment" | "store" | "originalTransactionId">;

export type ParsedEvent = EventRow & { facts: EventFacts };

/** The reasons that lie in the delivery itself: reading it again changes nothing. */
export const LASTING_REASONS: ReadonlySet<string> = new Set([
  "transaction_not_named",
  "transfer_names_nobody",
  "time_invalid",
]);

type Rejection = { state: "ignored" | "failed"; reason: string };

export type Decision =
  | ({ kind: "reject"; event: ParsedEvent } & Rejection)
  /** It says who owns a customer's purchases. */
  | { kind: "change_owners"; event: ParsedEvent }
  | { kind: "attach"; event: ParsedEvent; key: PurchaseKey };

/** Decides how to apply an event. `facts`: the event's own, if they need not be parsed again. */
export function decide(row: EventRow, facts = EventFacts.parse(row.facts)): Decision {
  const event = { ...row, facts };
  const rejection = rejectionOf(event);
  if (rejection) return { kind: "reject", event, ...rejection };
  return facts.identityChange !== null
    ? { kind: "change_owners", event }
    : { kind: "attach", event, key: purchaseKeyOf(event) };
}

/** Returns why an event changes no purchase; null if it does. */
function rejectionOf(event: ParsedEvent): Rejection | null {
  const { expiresAt, identityChange, invalidField, payment, snapshot } = event.facts;
  if (identityChange === "transfer") {
    const hasBothSides = event.transferredFrom.length > 0 && event.appUserIds.length > event.transferredFrom.length;
    return hasBothSides ? null : { state: "failed", reason: "transfer_names_nobody" };
  }
  if (identityChange === "alias") return null;
  if (IdentityEventType.safeParse(event.type).success) return { state: "ignored", reason: "nothing_to_change" };
  const type = PurchaseEventType.safeParse(event.type).data;
  // A delivery of one of these types without a state would reset the purchase.
  const isEmpty =
    ((type === "SNAPSHOT" || type === "IMPORT") && !snapshot) ||
    (type === "PARTIAL_REFUND" && !payment?.refund && !snapshot);
  const isGrantOfProvider = (type === "GRANT" || type === "GRANT_ENDED") && event.provider !== HOMEPORT;
  if (!type || isEmpty || isGrantOfProvider) return { state: "ignored", reason: "type_not_applied" };
  if (invalidField !== null) return { state: "failed", reason: "time_invalid" };
  if (type === "TEMPORARY_ENTITLEMENT_GRANT") {
    return expiresAt ? null : { state: "ignored", reason: "grant_without_end" };
  }
  return event.originalTransactionId ? null : { state: "failed", reason: "transaction_not_named" };
}

function purchaseKeyOf(event: ParsedEvent): PurchaseKey {
  const { provider, environment, store, siblingOriginalTransactionId } = event;
  // Only a temporary grant may have no transaction. It is then a purchase of its own.
  const originalTransactionId = siblingOriginalTransactionId ?? event.originalTransactionId ?? `grant:${event.eventId}`;
  // A purchase without an environment is separate, and never counts as production.
  return { provider, environment: environment ?? "UNKNOWN", store: store ?? "UNKNOWN", originalTransactionId };
}

/** Attaches the events that name no original transaction to the purchase that another of the events names for theirs. */
export function attachToNamed(decisions: (Decision | null)[]): (Decision | null)[] {
  const originals = new Map<string, string>();
  for (const decision of decisions) {
    if (decision?.kind !== "attach" || namesNoOriginal(decision.event)) continue;
    const { event, key } = decision;
    if (event.transactionId === null) continue;
    const name = nameOf({ ...key, originalTransactionId: event.transactionId });
    if (!originals.has(name)) originals.set(name, key.originalTransactionId);
  }
  return decisions.map((decision) => {
    if (decision?.kind !== "attach" || !namesNoOriginal(decision.event)) return decision;
    const originalTransactionId = originals.get(nameOf(decision.key)) ?? decision.key.originalTransactionId;
    return { ...decision, key: { ...decision.key, originalTransactionId } };
  });
}

const namesNoOriginal = ({ transactionId, originalTransactionId }: ParsedEvent) =>
  transactionId !== null && transactionId === originalTransactionId;

export const nameOf = ({ provider, environment, store, originalTransactionId }: PurchaseKey) =>
  JSON.stringify([provider, environment, store, originalTransactionId]);
