import { z } from "zod";
import { Commitment } from "./events";

const Time = z.coerce.date().nullable();

/** The state that a purchase's events fold to. A time is null if its event has not happened or was reversed. */
export const PurchaseState = z.object({
  productId: z.string().nullable(),
  pendingProductId: z.string().nullable(),
  entitlementIds: z.array(z.string()),
  /** null: a one-time purchase, which has no period to renew. */
  periodType: z.string().nullable(),
  isLifetime: z.boolean(),
  isFamilyShare: z.boolean(),
  /** Whether the owner's next purchase in this store replaces it: see `endReplacedPurchases`. */
  isReplaceable: z.boolean(),
  startedAt: Time,
  currentPeriodStartsAt: Time,
  currentPeriodEndsAt: Time,
  gracePeriodEndsAt: Time,
  unsubscribedAt: Time,
  cancelReason: z.string().nullable(),
  billingIssueDetectedAt: Time,
  pausedAt: Time,
  resumesAt: Time,
  endedAt: Time,
  expirationReason: z.string().nullable(),
  refundedAt: Time,
  revocationType: z.string().nullable(),
  revocationPercentage: z.int().nullable(),
  billingPlanType: z.string().nullable(),
  ...Commitment.shape,
  appTransactionId: z.string().nullable(),
  lastEventAt: Time,
});
export type PurchaseState = z.infer<typeof PurchaseState>;

/** The part of a purchase that its status is computed from. */
export type Purchase = PurchaseState & { id: string; provider: string; store: string; environment: string };

/** A row of the table: the state of a purchase, its key and its owner. */
export const StoredPurchase = PurchaseState.extend({
  id: z.string(),
  provider: z.string(),
  environment: z.string(),
  store: z.string(),
  originalTransactionId: z.string(),
  accountId: z.string().nullable(),
  appUserIds: z.array(z.string()),
  /** When its events were last folded; null: not yet. */
  updatedAt: Time,
});
export type StoredPurchase = z.infer<typeof StoredPurchase>;
