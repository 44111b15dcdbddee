import { z } from "zod";

/** The events that a line is folded from, in our vocabulary: RevenueCat's "Event Types and Fields". */
export const LineEventType = z.enum([
  "INITIAL_PURCHASE",
  "NON_RENEWING_PURCHASE",
  "PRODUCT_CHANGE",
  "RENEWAL",
  "SUBSCRIPTION_EXTENDED",
  "UNCANCELLATION",
  "SUBSCRIPTION_PAUSED",
  "BILLING_ISSUE",
  "CANCELLATION",
  "EXPIRATION",
  "REFUND_REVERSED",
]);
export type LineEventType = z.infer<typeof LineEventType>;

const Time = z.coerce.date().nullable();

/** What an event says of its line; null where it says nothing. Names no person: deleting an account keeps it. */
export const EventFacts = z.object({
  occurredAt: z.coerce.date(),
  purchasedAt: Time,
  expiresAt: Time,
  gracePeriodEndsAt: Time,
  resumesAt: Time,
  productId: z.string().nullable(),
  newProductId: z.string().nullable(),
  entitlementIds: z.array(z.string()).nullable(),
  /** TRIAL, INTRO, NORMAL, PROMOTIONAL, PREPAID, or newer. */
  periodType: z.string().nullable(),
  isFamilyShare: z.boolean().nullable(),
  cancelReason: z.string().nullable(),
  expirationReason: z.string().nullable(),
  /** Money went back: the price is negative. */
  isRefund: z.boolean(),
});
export type EventFacts = z.infer<typeof EventFacts>;

/** One event of a line. `id` is the provider's. */
export type LineEvent = EventFacts & { id: string; type: LineEventType };

/** A delivery in our words. Every text is at most 255 characters long. */
export type ProviderEvent = {
  id: string;
  type: string;
  environment: string | null;
  store: string | null;
  /** The same for a purchase and all its renewals. */
  originalTransactionId: string | null;
  appUserId: string | null;
  /** Every name the provider gives the customer, the most binding first, without anonymous ones. */
  identities: string[];
  facts: EventFacts;
};
