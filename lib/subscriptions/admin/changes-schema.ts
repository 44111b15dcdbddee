import { z } from "zod";
import { Reason } from "../../platform/audit/reason";
import { NextCursor } from "../../platform/lists/pages";
import { BatchCursor, EventCursor } from "./event-batches";
import { BillingEventSummary } from "./schema";

const Progress = z.number().min(0).max(1).describe("The share of the work that is done, by time.");
const next = (what: string) =>
  NextCursor.describe(`The \`cursor\` of the next request. null: every ${what} was reached.`);

export const Replay = z.strictObject({ reason: Reason.optional() });
export type Replay = z.infer<typeof Replay>;

const ReplayStatus = z.enum(["processed", "duplicate", "ignored", "failed"]);

/** The outcome of an event that was applied again. */
export const ReplayedEvent = BillingEventSummary.pick({ id: true, eventId: true, type: true }).extend({
  status: ReplayStatus,
  reason: z.string().nullable().describe("Why the event was ignored or failed."),
});
export type ReplayedEvent = z.infer<typeof ReplayedEvent>;

/** Which events to apply again, oldest first. */
export const ReplayBatch = z.strictObject({
  state: z.enum(["failed", "received", "ignored", "all"]),
  limit: z.int().min(1).max(200).default(50).describe("The most events that this request applies."),
  cursor: EventCursor.optional().describe("`nextCursor` of the request before."),
  reason: Reason.optional(),
});
export type ReplayBatch = z.infer<typeof ReplayBatch>;

export const ReplayedBatch = z.object({
  counts: z.partialRecord(ReplayStatus, z.int()),
  failures: z.array(ReplayedEvent),
  progress: Progress,
  nextCursor: next("event that was in the inbox at the first request"),
});
export type ReplayedBatch = z.infer<typeof ReplayedBatch>;

export const PruneBatch = z.strictObject({ cursor: EventCursor.optional(), reason: Reason.optional() });
export type PruneBatch = z.infer<typeof PruneBatch>;

export const PrunedBatch = z.object({
  deleted: z.int().describe("The payloads that this request deleted."),
  progress: Progress,
  nextCursor: next("old event"),
});
export type PrunedBatch = z.infer<typeof PrunedBatch>;

/** The purchase, and the App User ID of the next one, after which a reconciliation of all customers continues. */
export const CustomerPosition = z.object({ after: z.uuid().nullable(), appUserId: z.string().nullable() });
export type CustomerPosition = z.infer<typeof CustomerPosition>;

/** The customers to reconcile. */
export const Reconciliation = z.strictObject({
  accountId: z.uuid().toLowerCase().optional().describe("Without it, all customers with purchases."),
  cursor: BatchCursor.pipe(CustomerPosition).optional().describe("`nextCursor` of the request before."),
  reason: Reason.optional(),
});
export type Reconciliation = z.infer<typeof Reconciliation>;

export const ReconciledCustomer = z.object({
  appUserId: z.string(),
  known: z.int().describe("The purchases in the provider's response."),
  corrected: z.int().describe("Those that were corrected here."),
  failure: z.string().nullable(),
});
export type ReconciledCustomer = z.infer<typeof ReconciledCustomer>;

export const ReconciledCustomers = z.object({
  customers: z.array(ReconciledCustomer),
  retry: z
    .object({ appUserId: z.string(), afterSeconds: z.number() })
    .nullable()
    .describe("The provider limits requests: the customer to continue with, and how long to wait first."),
  progress: Progress,
  nextCursor: next("customer"),
});
export type ReconciledCustomers = z.infer<typeof ReconciledCustomers>;

/** An unlinked customer, named by a purchase or an App User ID, and the account that gets the purchases. */
export const Assignment = z.strictObject({
  purchaseId: z.uuid().optional(),
  appUserId: z.string().min(1).max(255).optional(),
  accountId: z.uuid().toLowerCase(),
  isDryRun: z.boolean().default(false).describe("`true` changes nothing."),
  reason: Reason.optional(),
});
export type Assignment = z.infer<typeof Assignment>;

export const AssignedPurchases = z.object({
  purchases: z.array(
    z.object({ id: z.uuid(), productId: z.string().nullable(), store: z.string(), environment: z.string() }),
  ),
  appUserIds: z.array(z.string()).describe("The customer's App User IDs, which are the account's from now on."),
  eventId: z.string().nullable().describe("The event that links them. null: nothing was changed."),
});
export type AssignedPurchases = z.infer<typeof AssignedPurchases>;
