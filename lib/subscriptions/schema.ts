import { z } from "zod";

const Time = z.date().nullable();

const Entitlement = z.object({
  id: z.string(),
  isActive: z.boolean(),
  /** null: never, or not known. */
  expiresAt: Time,
  productId: z.string().nullable(),
  store: z.string(),
});
export type Entitlement = z.infer<typeof Entitlement>;

/** One line (a purchase and its renewals) as of one moment. */
export const LineStatus = z.object({
  status: z.enum([
    "none",
    "active",
    "trialing",
    "canceled",
    "grace_period",
    "billing_retry",
    "paused",
    "expired",
    "revoked",
  ]),
  /** Access, as clients should gate on it: the status grants it and the environment counts. */
  isActive: z.boolean(),
  /** Whether the store is expected to charge again at the end of the period. */
  willRenew: z.boolean(),
  isLifetime: z.boolean(),
  isFamilyShare: z.boolean(),
  /** Active past its end, since the news of the renewal may be on its way. */
  stale: z.boolean(),
  entitlements: z.array(Entitlement),
  productId: z.string().nullable(),
  pendingProductId: z.string().nullable(),
  store: z.string().nullable(),
  /** null: a one-time purchase, or no purchase. */
  periodType: z.string().nullable(),
  environment: z.string().nullable(),
  startedAt: Time,
  currentPeriodStartsAt: Time,
  /** null: lifetime. */
  currentPeriodEndsAt: Time,
  accessEndsAt: Time,
  gracePeriodEndsAt: Time,
  canceledAt: Time,
  cancelReason: z.string().nullable(),
  expirationReason: z.string().nullable(),
  billingIssueDetectedAt: Time,
  refundedAt: Time,
  resumesAt: Time,
  /** Where the store lets its owner manage it. */
  managementUrl: z.string().nullable(),
});
export type LineStatus = z.infer<typeof LineStatus>;

/** The account's answer: its best line's, with every line beside it and the entitlements of all. */
export const SubscriptionStatus = LineStatus.extend({
  subscriptions: z.array(LineStatus),
  lastEventAt: Time,
  checkedAt: z.date(),
});
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>;

/** What became of a delivery. "duplicate": it had been processed before. */
export const DeliveryReceipt = z.object({
  status: z.enum(["processed", "duplicate", "ignored", "failed"]),
  eventId: z.string(),
});
export type DeliveryReceipt = z.infer<typeof DeliveryReceipt>;
