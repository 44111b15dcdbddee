import { z } from "zod";
import { Reason } from "../../platform/audit/schema";
import { isUuid } from "../../platform/db/ids";
import { AccountName } from "../../platform/find-account";
import { NextCursor, PageQuery } from "../../platform/lists";
import { Time } from "../../platform/storable";
import { EventFacts } from "../events";
import { PurchaseState, StoredPurchase } from "../purchase-state";
import { PurchaseStatus } from "../schema";
import { BatchCursor, EventCursor } from "./event-batches";

export const BillingEventState = z
  .enum(["received", "processed", "ignored", "failed"])
  .describe("`received`: stored, and not applied yet. `ignored`: it changes no purchase.");
export type BillingEventState = z.infer<typeof BillingEventState>;

const AccountEmail = z
  .string()
  .nullable()
  .describe("The account's email. null: there is no account, or it was deleted.");

/** Which events of the inbox to list. */
export const BillingEventsQuery = z.object({
  ...PageQuery.shape,
  state: BillingEventState.optional(),
  type: z.string().min(1).max(255).optional().describe("Such as `RENEWAL`."),
  account: AccountName.refine((name) => isUuid(name) || name.includes("@"), "Must be an account's id or email")
    .optional()
    .describe("Events of this account's purchases, and those that name it: its id or email."),
  purchase: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .optional()
    .describe("Events of this purchase, by its id or original transaction; or of one transaction."),
  event: z.string().min(1).max(255).optional().describe("The provider's id of the event, or ours."),
  unlinked: z
    .enum(["true", "false"])
    .optional()
    .describe("`true`: only events without an account. Ignored ones are left out, unless `state` selects them."),
  receivedFrom: Time.optional().describe("Only events that were received at this time or later."),
  receivedBefore: Time.optional().describe("Only events that were received before this time."),
});
export type BillingEventsQuery = z.infer<typeof BillingEventsQuery>;

export const BillingEventSummary = z.object({
  id: z.uuid(),
  provider: z.string(),
  eventId: z.string().describe("The provider's id of the event."),
  type: z.string(),
  state: BillingEventState,
  reason: z.string().nullable().describe("Why the event was ignored or failed."),
  environment: z.string().nullable(),
  store: z.string().nullable(),
  occurredAt: z.date(),
  receivedAt: z.date(),
  processedAt: z.date().nullable(),
  purchaseId: z.uuid().nullable(),
  accountId: z.uuid().nullable().describe("The account that the event names, or that has its purchase."),
  accountEmail: AccountEmail,
});
export type BillingEventSummary = z.infer<typeof BillingEventSummary>;

export const BillingEvents = z.object({
  events: z.array(BillingEventSummary),
  nextCursor: NextCursor.describe(
    "The `cursor` of the next page. null: this is the last one. A request searches 10,000 events at most, so that a page may have fewer events than `limit`, or none, although others follow.",
  ),
});
export type BillingEvents = z.infer<typeof BillingEvents>;

export const BillingIdParams = z.object({ id: z.uuid().toLowerCase() });

const Change = z.object({ field: z.string(), before: z.unknown(), after: z.unknown() });

/** A purchase: its key, its owner and its state. */
const BillingPurchase = StoredPurchase.extend({
  id: z.uuid(),
  accountId: z.uuid().nullable(),
  accountEmail: AccountEmail,
  createdAt: z.date(),
  updatedAt: z.date(),
  reconciledAt: z.date().nullable().describe("When it was last scheduled to be compared with the provider."),
});
export type BillingPurchase = z.infer<typeof BillingPurchase>;

/** An event with its payload, what was read from it, and what it changed. */
export const BillingEventDetails = BillingEventSummary.extend({
  originalTransactionId: z.string().nullable(),
  transactionId: z.string().nullable(),
  appUserId: z.string().nullable().describe("The customer's App User ID as the provider wrote it."),
  appUserIds: z.array(z.string()).describe("Every App User ID in the event, normalized for comparison."),
  transferredFrom: z.array(z.string()).describe("Those of `appUserIds` that a transfer takes purchases from."),
  attempts: z.int().describe("Attempts to apply the event since its delivery."),
  nextAttemptAt: z
    .date()
    .nullable()
    .describe("When the next attempt is due. null: none is, because the event was applied or waits for an operator."),
  facts: EventFacts.nullable().describe("The event in the normalized form that is folded. null: it cannot be read."),
  payload: z.unknown().describe("The delivery's body without personal data. null: it was deleted, or there was none."),
  purchase: BillingPurchase.nullable(),
  changes: z
    .array(Change.extend({ purchaseId: z.uuid() }))
    .describe("What the event changed, of its own purchase or of those that it moved, by today's rules."),
});
export type BillingEventDetails = z.infer<typeof BillingEventDetails>;

const TimelineEvent = BillingEventSummary.pick({ id: true, eventId: true, type: true, occurredAt: true }).extend({
  receivedAt: z.date(),
  purchasedAt: z.date().nullable(),
});

const TimelineStep = z.object({
  event: TimelineEvent,
  isPeriodMissed: z.boolean().describe("The event begins a period whose own event is missing."),
  before: PurchaseState.nullable().describe("null: the event is the purchase's first."),
  after: PurchaseState,
  changes: z.array(Change),
  status: PurchaseStatus.shape.status.describe("The purchase's status right after the event."),
});
export type TimelineStep = z.infer<typeof TimelineStep>;

const TimelineOwner = z.object({
  event: BillingEventSummary.pick({ eventId: true, occurredAt: true }).extend({ type: z.string() }),
  appUserIds: z.array(z.string()),
  accountId: z.uuid().nullable(),
  accountEmail: AccountEmail,
});

/** How a purchase's state and owner came about. */
export const PurchaseTimeline = z.object({
  purchase: BillingPurchase,
  status: PurchaseStatus,
  isCurrent: z
    .boolean()
    .describe("Whether the stored state is what the events fold to by this version's rules. If not, replay an event."),
  owners: z.array(TimelineOwner).describe("The events that named the owner, or moved the purchase, newest first."),
  steps: z.array(TimelineStep).describe("The events that fold to the state, newest first."),
  nextCursor: NextCursor,
});
export type PurchaseTimeline = z.infer<typeof PurchaseTimeline>;

const Progress = z.number().min(0).max(1).describe("The share of the work that is done, by time.");
const next = (what: string) =>
  NextCursor.describe(`The \`cursor\` of the next request. null: every ${what} was reached.`);

export const Replay = z.strictObject({ reason: Reason.optional() });

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
  provider: z.string(),
  appUserId: z
    .string()
    .describe("The customer's App User ID at RevenueCat; of another provider, the purchase's original transaction."),
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
