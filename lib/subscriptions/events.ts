import { z } from "zod";

/** The events that a purchase is folded from, in our vocabulary: RevenueCat's "Event Types and Fields", and our SNAPSHOT. */
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
  /** What the provider said when it was asked; never delivered. */
  "SNAPSHOT",
]);
export type PurchaseEventType = z.infer<typeof PurchaseEventType>;

/** The events that say who is who, and whose a purchase is. The index "BillingEvent_identity_changes_idx" names them too. */
export const IdentityEventType = z.enum(["TRANSFER", "SUBSCRIBER_ALIAS", "PURCHASE_REDEEMED"]);

const Time = z.coerce.date().nullable();

/** What an event says of its purchase; null where it says nothing. Names no person: deleting an account keeps it. */
export const EventFacts = z.object({
  occurredAt: z.coerce.date(),
  purchasedAt: Time,
  expiresAt: Time,
  gracePeriodEndsAt: Time,
  resumesAt: Time,
  productId: z.string().nullable(),
  newProductId: z.string().nullable(),
  entitlementIds: z.array(z.string()).nullable(),
  /** TRIAL, INTRO, NORMAL, PROMOTIONAL, PREPAID, or newer; null for what is bought once. */
  periodType: z.string().nullable(),
  isFamilyShare: z.boolean().nullable(),
  cancelReason: z.string().nullable(),
  expirationReason: z.string().nullable(),
  /** Money went back: the price is negative. */
  isRefund: z.boolean(),
  /** "transfer" moves purchases from `transferredFrom`'s to the others'; "alias" says that all names are one customer's. */
  identityChange: z.enum(["transfer", "alias"]).nullable().default(null),
  /** Of a SNAPSHOT alone: what its other fields cannot say. */
  snapshot: z
    .object({
      unsubscribedAt: Time,
      billingIssueDetectedAt: Time,
      refundedAt: Time,
      /** Set only where no renewal can follow any more: an expiry in the past does not say that. */
      endedAt: Time.default(null),
    })
    .nullable()
    .default(null),
});
export type EventFacts = z.infer<typeof EventFacts>;

/** One event of a purchase. `id` is the provider's. */
export type PurchaseEvent = EventFacts & { id: string; type: PurchaseEventType };

/** A delivery in our words. Every text is at most 255 characters long. */
export type ProviderEvent = {
  type: string;
  environment: string | null;
  store: string | null;
  /** The same for a purchase and all its renewals. */
  originalTransactionId: string | null;
  /** This purchase's, or this renewal's. */
  transactionId: string | null;
  /** The customer's name as the provider writes it. */
  appUserId: string | null;
  /** Every name of the customer, the most binding first. For a transfer: the new owner's, then `transferredFrom`. */
  appUserIds: string[];
  /** For a transfer: the names of whoever it takes purchases from. Else empty. */
  transferredFrom: string[];
  facts: EventFacts;
};
