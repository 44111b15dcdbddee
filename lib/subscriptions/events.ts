import { z } from "zod";
import type { OwnerEvent } from "./ownership";

/**
 * The types of events that change a purchase: those of RevenueCat ("Event Types and Fields"), and Homeport's own, which are
 * described.
 */
export const PurchaseEventType = z.enum([
  "INITIAL_PURCHASE",
  "NON_RENEWING_PURCHASE",
  "TEMPORARY_ENTITLEMENT_GRANT",
  "PRODUCT_CHANGE",
  "RENEWAL",
  "SUBSCRIPTION_EXTENDED",
  "UNCANCELLATION",
  "SUBSCRIPTION_PAUSED",
  "BILLING_ISSUE",
  "CANCELLATION",
  "EXPIRATION",
  "REFUND_REVERSED",
  /** A refund that its provider calls partial. Refunds that add up to the whole payment count as a full one. */
  "PARTIAL_REFUND",
  /** The provider's API response to a reconciliation, or a delivery of a whole state that no other type describes. */
  "SNAPSHOT",
  /** An operator grants an entitlement, without a purchase at a store. */
  "GRANT",
  /** An operator ends a grant before its time. Otherwise an EXPIRATION ends it. */
  "GRANT_ENDED",
  /** The whole state of a purchase as it was when an import read it. */
  "IMPORT",
]);
export type PurchaseEventType = z.infer<typeof PurchaseEventType>;

/**
 * The types of events that link customers or transfer purchases. The index BillingEvent_identity_changes_idx lists them
 * too.
 */
export const IdentityEventType = z.enum(["TRANSFER", "SUBSCRIBER_ALIAS", "PURCHASE_REDEEMED"]);

/**
 * The type of an event that changes no purchase: a parent has withdrawn the consent to a child's use of the app (App Store
 * Server Notifications, "notificationType").
 */
export const CONSENT_WITHDRAWN = "RESCIND_CONSENT";

const Time = z.coerce.date().nullable();
const Amount = z.string().regex(/^\d{1,30}$/);

/** How far a customer is in the billing periods that they have agreed to pay for. */
export const Commitment = z.object({
  billingPeriodNumber: z.int().nullable(),
  totalBillingPeriods: z.int().nullable(),
  commitmentExpiresAt: Time,
  /** The price of all periods, in thousandths of the currency's unit. */
  commitmentPrice: z.int().nullable(),
  commitmentCurrency: z.string().nullable(),
  /** Whether another commitment follows. */
  commitmentWillRenew: z.boolean().nullable(),
});
export type Commitment = z.infer<typeof Commitment>;

/**
 * The effect of an event on its purchase; a field is null if the event does not have it. Contains no personal data: it
 * outlives the account.
 */
export const EventFacts = z.object({
  occurredAt: z.coerce.date(),
  purchasedAt: Time,
  expiresAt: Time,
  gracePeriodEndsAt: Time,
  resumesAt: Time,
  productId: z.string().nullable(),
  newProductId: z.string().nullable(),
  entitlementIds: z.array(z.string()).nullable(),
  /** TRIAL, INTRO, NORMAL, PROMOTIONAL, PREPAID, or a newer one; null for a one-time purchase. */
  periodType: z.string().nullable(),
  isFamilyShare: z.boolean().nullable(),
  cancelReason: z.string().nullable(),
  expirationReason: z.string().nullable(),
  /** The price is negative. */
  isRefund: z.boolean(),
  /** Of the App Store: how much of the price is refunded, in thousandths of a percent, and how the purchase is billed. */
  revocationType: z.string().nullable().default(null),
  revocationPercentage: z.int().nullable().default(null),
  billingPlanType: z.string().nullable().default(null),
  commitment: Commitment.nullable().default(null),
  /** The App Store's id of the app's download by an Apple Account. Deleted with the account. */
  appTransactionId: z.string().nullable().default(null),
  /** "transfer": the purchases of `transferredFrom` now belong to the other ids; "alias": all ids are one customer. */
  identityChange: z.enum(["transfer", "alias"]).nullable().default(null),
  /** The rest of the purchase's whole state, from a provider that sends it: of a SNAPSHOT, or of an event of any type. */
  snapshot: z
    .object({
      /** When the purchase began, where the provider says so. */
      startedAt: Time.optional(),
      /** Orders nothing, unlike `purchasedAt`: the newest state counts, even if its period began earlier. */
      periodStartsAt: Time.optional(),
      /** Whether the next renewal starts a pause, which may have no end. */
      isPausing: z.boolean().optional(),
      unsubscribedAt: Time,
      billingIssueDetectedAt: Time,
      refundedAt: Time,
      /** Whether a purchase without `refundedAt` is not refunded. RevenueCat does not say so of a one-time purchase. */
      isRefundKnown: z.boolean().optional(),
      /** Set once no renewal can follow. An expiry in the past does not mean that. */
      endedAt: Time.default(null),
    })
    .nullable()
    .default(null),
  /** Amounts in the currency's lowest unit, from a provider whose refunds have them. */
  payment: z
    .object({
      /** What was paid. */
      total: Amount.nullable(),
      /** A refund, or its reversal. `id` is the same in all events of one refund. */
      refund: z.object({ id: z.string(), amount: Amount.nullable(), isFull: z.boolean() }).nullable(),
    })
    .nullable()
    .default(null),
  /** A time that is none, by its name in the delivery: the event is not applied. */
  invalidField: z.string().nullable().default(null),
  /** Who granted an entitlement or ended the grant, and why. Deleted with the account. */
  operator: z.object({ actor: z.string(), reason: z.string().nullable() }).nullable().default(null),
  /** What orders events of one instant that have the purchase's whole state. */
  order: z
    .object({
      /** The part of the provider's time below milliseconds, in nanoseconds. */
      nanoseconds: z.int().default(0),
      receivedAt: Time,
      /** Digests of the state, and of the one that it replaced, where the provider says what changed. */
      state: z.string().nullable().default(null),
      replacedState: z.string().nullable().default(null),
    })
    .nullable()
    .default(null),
});
export type EventFacts = z.infer<typeof EventFacts>;

/** An event of a purchase. `id` is the provider's. */
export type PurchaseEvent = EventFacts & { id: string; type: PurchaseEventType };

/** An event as a provider's reader returns it. Texts have at most 255 characters. */
export type ProviderEvent = {
  type: string;
  environment: string | null;
  store: string | null;
  /** The transaction of the first purchase: the same for all renewals. */
  originalTransactionId: string | null;
  /** The transaction of this purchase or renewal. */
  transactionId: string | null;
  /** The customer's App User ID as the provider wrote it. */
  appUserId: string | null;
  /** The customer's App User IDs, in order of precedence. In a transfer: the new owner's, then `transferredFrom`. */
  appUserIds: string[];
  /** The previous owner's App User IDs in a transfer, else empty. */
  transferredFrom: string[];
  facts: EventFacts;
};

/** The part of an event in the inbox that decides the state and the owner of a purchase. */
export const StoredEvent = z.object({
  eventId: z.string(),
  type: z.string(),
  environment: z.string().nullable(),
  store: z.string().nullable(),
  facts: EventFacts,
  appUserIds: z.array(z.string()),
  transferredFrom: z.array(z.string()),
  accountId: z.string().nullable(),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

type OfPurchase<Event> = Event & { type: PurchaseEventType };

/** Whether an event belongs to a purchase, and says something about its state. */
export function isPurchaseEvent<Event extends { type: string }>(event: Event): event is OfPurchase<Event> {
  return PurchaseEventType.safeParse(event.type).success;
}

/** An event as the fold reads it. */
export function toPurchaseEvent({ eventId, type, facts }: OfPurchase<StoredEvent>): PurchaseEvent {
  return { id: eventId, type, ...facts };
}

/** An event of a purchase as it names the purchase's owner. */
export function toOwnerEvent({ eventId, facts, appUserIds }: StoredEvent): OwnerEvent {
  return { id: eventId, occurredAt: facts.occurredAt, appUserIds, transferredFrom: null };
}
