import { z } from "zod";

const Time = z.date().nullable();

const Entitlement = z.object({
  id: z.string(),
  isActive: z.boolean(),
  expiresAt: Time.describe("null if it does not expire or its expiry is unknown."),
  productId: z.string().nullable(),
  store: z.string(),
});
export type Entitlement = z.infer<typeof Entitlement>;

/** The status of one purchase, with its renewals, at a time. */
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
      "Whether the purchase gives access now. Apps with one tier check this field; apps with several tiers check `entitlements[].isActive`.",
    ),
  willRenew: z.boolean().describe("Whether the store is expected to charge again at the end of the period."),
  isLifetime: z.boolean(),
  isFamilyShare: z.boolean(),
  stale: z.boolean().describe("Active after its period has ended, because the event of the renewal may still arrive."),
  entitlements: z.array(Entitlement),
  productId: z.string().nullable(),
  pendingProductId: z.string().nullable(),
  store: z.string().nullable(),
  periodType: z.string().nullable().describe("null for a one-time purchase, or if there is no purchase."),
  environment: z.string().nullable(),
  startedAt: Time,
  currentPeriodStartsAt: Time,
  currentPeriodEndsAt: Time.describe("null for a lifetime purchase."),
  accessEndsAt: Time,
  gracePeriodEndsAt: Time,
  canceledAt: Time,
  cancelReason: z.string().nullable(),
  expirationReason: z.string().nullable(),
  billingIssueDetectedAt: Time,
  refundedAt: Time,
  resumesAt: Time,
  managementUrl: z.string().nullable().describe("The store's page to manage the subscription."),
});
export type PurchaseStatus = z.infer<typeof PurchaseStatus>;

/** The status of an account: that of its best purchase, with the entitlements of all, and each purchase in `subscriptions`. */
export const SubscriptionStatus = PurchaseStatus.extend({
  subscriptions: z.array(PurchaseStatus),
  lastEventAt: Time,
  checkedAt: z.date(),
});
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>;

export const DeliveryReceipt = z.object({
  status: z
    .enum(["processed", "duplicate", "ignored", "failed"])
    .describe("The outcome of the delivery. `duplicate`: the event was processed before."),
  eventId: z.string(),
});
export type DeliveryReceipt = z.infer<typeof DeliveryReceipt>;
