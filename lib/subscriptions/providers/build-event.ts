import { normalizeAppUserIds } from "../app-user-ids";
import { EventFacts, type ProviderEvent } from "../events";

type ProviderEventInput = {
  type: string;
  occurredAt: Date;
  environment: string | null;
  store: string | null;
  /** The provider's id of the purchase: of the subscription, the payment or the first transaction. */
  purchaseId: string | null;
  transactionId?: string | null;
  /** The account's id and the provider's id of the customer, in order of precedence. */
  customers: (string | null)[];
  /** Those of the previous owner in a transfer. */
  previousCustomers?: string[];
  order?: EventFacts["order"];
  facts?: Partial<EventFacts>;
};

const NOTHING = Object.fromEntries(Object.keys(EventFacts.shape).map((name) => [name, null]));
const NO_FACTS = EventFacts.parse({ ...NOTHING, occurredAt: 0, isRefund: false });

/** Builds the event of a delivery. Facts that are not given are null. A type that is not one of Homeport's is ignored. */
export function buildProviderEvent({ facts, order = null, ...given }: ProviderEventInput): ProviderEvent {
  const { type, occurredAt, environment, store, purchaseId, transactionId = purchaseId } = given;
  const { customers, previousCustomers: previous = [] } = given;
  const appUserIds = customers.filter((id) => id !== null);
  return {
    type,
    environment,
    store,
    originalTransactionId: purchaseId,
    transactionId,
    appUserId: appUserIds[0] ?? null,
    // Each side of a transfer has its own limit.
    appUserIds: [...new Set([appUserIds, previous].flatMap(normalizeAppUserIds))],
    transferredFrom: normalizeAppUserIds(previous.filter((id) => !appUserIds.includes(id))),
    facts: { ...NO_FACTS, occurredAt, order, ...facts },
  };
}

/** Whether a type is that of a state which the provider's API returned. */
export const isOfApi = (type: string | null): type is "SNAPSHOT" | "IMPORT" => type === "SNAPSHOT" || type === "IMPORT";

/** What orders the events of one instant: the rest of the provider's time, the states, and the order of arrival. */
export function orderOf(receivedAt: Date, given: Partial<NonNullable<EventFacts["order"]>> = {}): EventFacts["order"] {
  return { nanoseconds: 0, receivedAt, state: null, replacedState: null, ...given };
}

type SnapshotFacts = NonNullable<EventFacts["snapshot"]>;

/** The part of a whole state that `EventFacts` has no other field for. Times that are not given are null. */
export function snapshotOf(given: Partial<SnapshotFacts>): SnapshotFacts {
  return { unsubscribedAt: null, billingIssueDetectedAt: null, refundedAt: null, endedAt: null, ...given };
}

/** The state of a purchase that has ended. */
export function endedFacts(
  facts: Partial<EventFacts>,
  snapshot: Partial<SnapshotFacts>,
  endedAt: Date,
  expirationReason: string,
): Partial<EventFacts> {
  return { ...facts, expiresAt: endedAt, expirationReason, snapshot: snapshotOf({ ...snapshot, endedAt }) };
}

/** The refund of a one-time payment, which ends what was bought. Its event may arrive before that of the payment. */
export function refundOfPayment(refundedAt: Date): Partial<EventFacts> {
  return { isRefund: true, cancelReason: "CUSTOMER_SUPPORT", snapshot: snapshotOf({ refundedAt }) };
}

/** A purchase is known by its id; another event of the same customer then names the account that it belongs to. */
export function buildAliasEvent(given: Omit<ProviderEventInput, "type" | "purchaseId" | "facts">): ProviderEvent {
  const facts = { identityChange: "alias" } as const;
  return buildProviderEvent({ ...given, type: "SUBSCRIBER_ALIAS", purchaseId: null, facts });
}
