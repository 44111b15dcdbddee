import { z } from "zod";

const Time = z.coerce.date().nullable();

/** What a line's events fold to. Times are null where the thing has not happened, or was taken back. */
export const LineState = z.object({
  productId: z.string().nullable(),
  pendingProductId: z.string().nullable(),
  entitlementIds: z.array(z.string()),
  /** null: a one-time purchase, which has no period to renew. */
  periodType: z.string().nullable(),
  isLifetime: z.boolean(),
  isFamilyShare: z.boolean(),
  /** Whether the owner's next purchase in this store takes its place: see `endReplaced`. */
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
  lastEventAt: Time,
});
export type LineState = z.infer<typeof LineState>;

/** A line as its status is computed from it. */
export type Line = LineState & { store: string; environment: string };

/** A line as it is stored: its state, what it is, and whose. */
export const StoredLine = LineState.extend({
  id: z.string(),
  provider: z.string(),
  environment: z.string(),
  store: z.string(),
  originalTransactionId: z.string(),
  accountId: z.string().nullable(),
  identities: z.array(z.string()),
});
export type StoredLine = z.infer<typeof StoredLine>;
