import { z } from "zod";

const Time = z.date().nullable();

const Entitlement = z.object({
  id: z.string(),
  isActive: z.boolean(),
  expiresAt: Time.describe("null: never, or not known."),
  productId: z.string().nullable(),
  store: z.string(),
});
export type Entitlement = z.infer<typeof Entitlement>;

/** One purchase (a purchase and its renewals) as of one moment. */
export const PurchaseStatus = z.object({
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
  isActive: z
    .boolean()
    .describe(
      "Access: the status grants it and the environment counts. Clients gate on it where there is one tier, and on `entitlements[].isActive` where there are several.",
    ),
  willRenew: z.boolean().describe("Whether the store is expected to charge again at the end of the period."),
  isLifetime: z.boolean(),
  isFamilyShare: z.boolean(),
  stale: z.boolean().describe("Active past its end, since the news of the renewal may be on its way."),
  entitlements: z.array(Entitlement),
  productId: z.string().nullable(),
  pendingProductId: z.string().nullable(),
  store: z.string().nullable(),
  periodType: z.string().nullable().describe("null: a one-time purchase, or no purchase."),
  environment: z.string().nullable(),
  startedAt: Time,
  currentPeriodStartsAt: Time,
  currentPeriodEndsAt: Time.describe("null: lifetime."),
  accessEndsAt: Time,
  gracePeriodEndsAt: Time,
  canceledAt: Time,
  cancelReason: z.string().nullable(),
  expirationReason: z.string().nullable(),
  billingIssueDetectedAt: Time,
  refundedAt: Time,
  resumesAt: Time,
  managementUrl: z.string().nullable().describe("Where the store lets its owner manage it."),
});
export type PurchaseStatus = z.infer<typeof PurchaseStatus>;

/** The account's answer: its best purchase's, with every purchase beside it and the entitlements of all. */
export const SubscriptionStatus = PurchaseStatus.extend({
  subscriptions: z.array(PurchaseStatus),
  lastEventAt: Time,
  checkedAt: z.date(),
});
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>;

export const DeliveryReceipt = z.object({
  status: z
    .enum(["processed", "duplicate", "ignored", "failed"])
    .describe("What became of the delivery. `duplicate`: it had been processed before."),
  eventId: z.string(),
});
export type DeliveryReceipt = z.infer<typeof DeliveryReceipt>;
