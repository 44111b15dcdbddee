import { z } from "zod";
import { NextCursor } from "../platform/lists";

const MAX_WAIT_SECONDS = 30;

const Time = z.date().nullable();

const ManagementUrl = z.string().nullable().describe("The page to manage the subscription.");
const ChangesTo = z
  .object({ productId: z.string(), at: z.date() })
  .nullable()
  .describe("The product that the next renewal changes to, and when. null: it renews as it is, or not at all.");
const Commitment = z
  .object({
    billingPeriodNumber: z.int().describe("The current period, from 1."),
    totalBillingPeriods: z.int(),
    expiresAt: z.date(),
    priceMilliunits: z.int().nullable().describe("The price of all periods, in thousandths of the currency's unit."),
    currency: z.string().nullable(),
    willRenew: z.boolean().nullable().describe("Whether another commitment follows this one. null: not known."),
  })
  .nullable()
  .describe("The billing periods that the customer has agreed to pay for. null: none beyond the current one.");
const Status = z.enum([
  "none",
  "active",
  "trialing",
  "canceled",
  "grace_period",
  "billing_retry",
  "paused",
  "expired",
  "revoked",
]);

const PurchaseEntitlement = z.object({
  id: z.string(),
  isActive: z.boolean(),
  expiresAt: Time.describe("null if it does not expire or its expiry is unknown."),
  productId: z.string().nullable(),
  store: z.string(),
});

/** An entitlement of an account, with the state of the purchase that gives it. */
export const Entitlement = z.object({
  id: z.string(),
  isActive: z.boolean().describe("Whether it gives access now."),
  status: Status.describe("The status of its purchase."),
  willRenew: z.boolean(),
  periodType: z.string().nullable().describe("null for a one-time purchase."),
  productId: z.string().nullable(),
  store: z.string(),
  startedAt: Time,
  currentPeriodStartsAt: Time,
  currentPeriodEndsAt: Time.describe("null for a lifetime purchase."),
  expiresAt: Time.describe("When access ends or ended. null if it does not expire or its expiry is unknown."),
  gracePeriodEndsAt: Time,
  billingIssueDetectedAt: Time,
  canceledAt: Time,
  cancelReason: z.string().nullable(),
  changesTo: ChangesTo,
  isSandbox: z.boolean().describe("Whether the purchase was made outside the production environment."),
  isFamilyShare: z.boolean(),
  purchaseId: z.uuid(),
  managementUrl: ManagementUrl,
});
export type Entitlement = z.infer<typeof Entitlement>;

/** The status of one purchase, with its renewals, at a time. */
export const PurchaseStatus = z.object({
  purchaseId: z.uuid().nullable().describe("null if there is no purchase."),
  status: Status,
  isActive: z
    .boolean()
    .describe(
      "Whether the purchase gives access now. Apps with one tier check this field; apps with several tiers check `entitlements[].isActive`.",
    ),
  willRenew: z.boolean().describe("Whether the store is expected to charge again at the end of the period."),
  isLifetime: z.boolean(),
  isFamilyShare: z.boolean(),
  stale: z.boolean().describe("Active after its period has ended, because the event of the renewal may still arrive."),
  entitlements: z.array(PurchaseEntitlement),
  productId: z.string().nullable(),
  pendingProductId: z.string().nullable(),
  changesTo: ChangesTo,
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
  refundedAt: Time.describe("When the whole price was refunded."),
  revocationType: z
    .string()
    .nullable()
    .describe(
      "Of the App Store: `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`. A prorated refund does not end access. null: none is known.",
    ),
  revocationPercentage: z
    .number()
    .nullable()
    .describe("How much of the price was refunded, in percent, such as 67.932."),
  billingPlanType: z
    .string()
    .nullable()
    .describe("Of the App Store: `MONTHLY` is billed by the month, with a commitment; `BILLED_UPFRONT` is not."),
  commitment: Commitment,
  resumesAt: Time,
  managementUrl: ManagementUrl,
});
export type PurchaseStatus = z.infer<typeof PurchaseStatus>;

/** The status of an account: that of its best purchase, with the entitlements of all, and each purchase in `subscriptions`. */
export const SubscriptionStatus = PurchaseStatus.extend({
  entitlements: z.array(Entitlement).describe("The entitlements of all purchases, sorted by id: at most 100."),
  subscriptions: z
    .array(PurchaseStatus)
    .describe("The 20 highest-ranked purchases: subscriptions, and one-time purchases with entitlements."),
  lastEventAt: Time,
  isFresh: z
    .boolean()
    .optional()
    .describe("Only with `fresh=1`: whether the status includes the provider's current response."),
  checkedAt: z.date(),
});
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>;

const ListedPurchase = PurchaseStatus.extend({
  purchaseId: z.uuid(),
  originalTransactionId: z.string().describe("The store's id of the first transaction."),
});

export const Purchases = z.object({ purchases: z.array(ListedPurchase), nextCursor: NextCursor });
export type Purchases = z.infer<typeof Purchases>;

/** Accepts an entity tag with and without its quotes and `W/`. */
const toOpaqueTag = (etag: string) => etag.replace(/^W\//, "").replaceAll('"', "");

/** What a status request waits for. */
export const StatusQuery = z.object({
  fresh: z
    .literal("1", "Must be 1")
    .optional()
    .describe(
      "Reconcile the account with the provider first, at most once a minute, and wait up to `BILLING_FRESH_TIMEOUT_MS` for its response.",
    ),
  since: z
    .string()
    .max(100)
    .transform(toOpaqueTag)
    .optional()
    .describe("The `ETag` of an earlier response: respond once the status differs, or after `wait` seconds."),
  wait: z
    .string()
    .regex(/^\d{1,2}$/, "Must be an integer")
    .transform(Number)
    .refine((seconds) => seconds <= MAX_WAIT_SECONDS, `Must be at most ${MAX_WAIT_SECONDS}`)
    .optional()
    .meta({ description: `Seconds to wait for a change: 0 (default) to ${MAX_WAIT_SECONDS}.`, examples: ["30"] }),
});
export type StatusQuery = z.infer<typeof StatusQuery>;

export const WebhookQuery = z.object({
  provider: z
    .enum(["revenuecat", "standard-webhooks", "stripe", "paddle", "app-store"])
    .optional()
    .describe("The sender. By default it is recognized by its signature."),
});

export const DeliveryReceipt = z.object({
  status: z
    .enum(["processed", "duplicate", "ignored", "failed"])
    .describe("The outcome of the delivery. `duplicate`: the event was processed before."),
  eventId: z.string(),
});
export type DeliveryReceipt = z.infer<typeof DeliveryReceipt>;

/** The audience of the token, and the key that it is bound to. */
export const TokenQuery = z.object({
  audience: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, "Must be 1 to 255 visible ASCII characters")
    .meta({
      description: "The app that checks the token, such as its bundle id: the claim `aud`.",
      examples: ["com.example.core"],
    }),
  jkt: z
    .string()
    .regex(/^[\w-]{43}$/, "Must be the SHA-256 thumbprint of a JWK")
    .optional()
    .describe("The thumbprint of a key of the device (RFC 7638), to which the token is bound: the claim `cnf.jkt`."),
});
export type TokenQuery = z.infer<typeof TokenQuery>;

export const EntitlementToken = z.object({
  token: z.string().describe("A JWT, signed with EdDSA by a key of `/.well-known/jwks.json`."),
  expiresAt: z.date().describe("When the token expires. Fetch a new token well before it expires."),
});
export type EntitlementToken = z.infer<typeof EntitlementToken>;
