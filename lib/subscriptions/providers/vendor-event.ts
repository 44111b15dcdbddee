import { normalizeAppUserIds } from "../app-user-ids";
import type { EventFacts, ProviderEvent } from "../events";

type Given = {
  type: string;
  occurredAt: Date;
  environment: string | null;
  store: string;
  /** The vendor's id of the purchase: of the subscription, the payment or the first transaction. */
  purchaseId: string | null;
  transactionId?: string | null;
  /** The account's id and the vendor's id of the customer, in order of precedence. */
  customers: (string | null)[];
  facts?: Partial<EventFacts>;
};

const NO_FACTS: Omit<EventFacts, "occurredAt"> = {
  purchasedAt: null,
  expiresAt: null,
  gracePeriodEndsAt: null,
  resumesAt: null,
  productId: null,
  newProductId: null,
  entitlementIds: null,
  periodType: null,
  isFamilyShare: null,
  cancelReason: null,
  expirationReason: null,
  isRefund: false,
  identityChange: null,
  snapshot: null,
};

/** An event of a vendor, in Homeport's form. Facts that are not given are null. A type of the vendor's own is ignored. */
export function vendorEvent({ customers, purchaseId, facts, ...given }: Given): ProviderEvent {
  const { type, occurredAt, environment, store, transactionId = purchaseId } = given;
  const names = customers.filter((name) => name !== null);
  return {
    type,
    environment,
    store,
    originalTransactionId: purchaseId,
    transactionId,
    appUserId: names[0] ?? null,
    appUserIds: normalizeAppUserIds(names),
    transferredFrom: [],
    facts: { ...NO_FACTS, occurredAt, ...facts },
  };
}

type SnapshotFacts = NonNullable<EventFacts["snapshot"]>;

/** The part of a whole state that `EventFacts` has no other field for. Times that are not given are null. */
export function snapshotOf(given: Partial<SnapshotFacts>): SnapshotFacts {
  return { unsubscribedAt: null, billingIssueDetectedAt: null, refundedAt: null, endedAt: null, ...given };
}

/** The refund of a one-time payment, which ends what was bought. Its event may arrive before that of the payment. */
export function refundOfPayment(refundedAt: Date): Partial<EventFacts> {
  return { isRefund: true, cancelReason: "CUSTOMER_SUPPORT", snapshot: snapshotOf({ refundedAt }) };
}

/** A purchase is known by its id; another event of the same customer then names the account that it belongs to. */
export function aliasEvent(given: Omit<Given, "type" | "purchaseId" | "facts">): ProviderEvent {
  return vendorEvent({ ...given, type: "SUBSCRIBER_ALIAS", purchaseId: null, facts: { identityChange: "alias" } });
}
