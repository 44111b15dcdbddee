import { z } from "zod";
import { operation } from "../../operation";
import { Reason } from "../../platform/audit/schema";
import { PageQuery } from "../../platform/lists";
import { assignPurchases } from "./assign-purchases";
import { BillingProducts, BillingProductsQuery, listBillingProducts } from "./billing-products";
import { listBillingEvents } from "./list-events";
import { prunePayloads } from "./prune-payloads";
import { readPurchaseTimeline } from "./purchase-timeline";
import { reconcileCustomers } from "./reconcile";
import { replayBatch, replayEvent } from "./replay-events";
import {
  AssignedPurchases,
  Assignment,
  BillingEventDetails,
  BillingEvents,
  BillingEventsQuery,
  BillingIdParams,
  PruneBatch,
  PrunedBatch,
  PurchaseTimeline,
  ReconciledCustomers,
  Reconciliation,
  Replay,
  ReplayBatch,
  ReplayedBatch,
  ReplayedEvent,
} from "./schema";
import { showBillingEvent } from "./show-event";

const READ = { role: "support", scope: "billing:read" } as const;
const CHANGE = { role: "admin", stepUp: true, scope: "billing:write", idempotency: "replay" } as const;

const ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11";
const EVENT_ID = "12345678-1234-1234-1234-123456789012";

const MAX_REPLAYED_EVENTS = 200;

/** How many requests of a batch have failed before: a field of the form that continues it. */
const failures = z.int().min(0).default(0);

/** What a request did of work that may take several, and where the next one continues. */
type Part = { progress: number; nextCursor: string | null };

/** The page of the inbox, which says how far the work has come: see `BatchProgress`. */
function batchPage(batch: string, { progress, nextCursor }: Part, shown: { failures?: number; only?: string } = {}) {
  const params = new URLSearchParams({ batch, share: progress.toFixed(3) });
  for (const [name, value] of Object.entries({ ...shown, at: nextCursor ?? undefined })) {
    if (value !== undefined) params.set(name, String(value));
  }
  return `/console/billing?${params}`;
}

export const billingOperations = {
  assignPurchases: operation({
    id: "assignPurchases",
    summary: "Assign an unlinked customer's purchases to an account",
    description:
      "Assigns the purchases of an unlinked customer to an account, and those that the customer makes later. The customer is named by one of the purchases or by an App User ID. It stores an event of type `SUBSCRIBER_ALIAS`, as the provider sends one when the app names the account. Purchases of another account are refused. Repeating the request changes nothing.",
    ...CHANGE,
    body: Assignment,
    errors: ["not_found", "assignment_conflict"],
    examples: {
      "What would be assigned": { purchaseId: ID, accountId: "019aa5f0-9a51-7c09-8d3e-1b9e4f0a2c77", isDryRun: true },
    },
    response: {
      description: "The customer's purchases. With `isDryRun`, `eventId` is null.",
      schema: AssignedPurchases,
      examples: {
        Assigned: {
          purchases: [{ id: ID, productId: "com.example.pro.monthly", store: "APP_STORE", environment: "PRODUCTION" }],
          appUserIds: ["$RCAnonymousID:2f1c7d9b5e0a4c3f8b6d1e2a3c4b5d6e"],
          eventId: "assignment:019aa5f1-03b2-7f4e-a1c8-5d6e7f809112",
        },
      },
    },
    run: ({ ctx, operator, body }) => assignPurchases(ctx, operator, body),
    form: {
      fields: z.object({
        purchaseId: z.uuid(),
        accountId: z.string().trim().toLowerCase().pipe(z.uuid("Must be an account's id")),
        reason: Reason,
      }),
      toInput: (body) => ({ body: { ...body, isDryRun: false } }),
      after: ({ eventId }) => ({ done: eventId === null ? "assigned_before" : "assigned" }),
    },
  }),

  listBillingEvents: operation({
    id: "listBillingEvents",
    summary: "List the events of the billing inbox",
    description:
      "Lists the events that the billing provider sent, newest first. Filters can be combined. Follow `nextCursor` until it is null, even after an empty page.",
    ...READ,
    query: BillingEventsQuery,
    errors: ["not_found"],
    response: {
      description: "A page of events.",
      schema: BillingEvents,
      examples: {
        "A failed event": {
          events: [
            {
              id: ID,
              provider: "revenuecat",
              eventId: EVENT_ID,
              type: "RENEWAL",
              state: "failed",
              reason: "transaction_not_named",
              environment: "PRODUCTION",
              store: "APP_STORE",
              occurredAt: "2026-11-20T09:00:00.000Z",
              receivedAt: "2026-11-20T09:00:01.000Z",
              processedAt: null,
              purchaseId: null,
              accountId: null,
              accountEmail: null,
            },
          ],
          nextCursor: null,
        },
      },
    },
    run: ({ ctx, query }) => listBillingEvents(ctx, query),
  }),

  showBillingEvent: operation({
    id: "showBillingEvent",
    summary: "Show a billing event",
    description:
      "Returns an event with its payload, its normalized form, its purchase and what it changed. The changes are computed from all events of the purchase, so they are also right for older events.",
    ...READ,
    params: BillingIdParams,
    errors: ["not_found"],
    response: { description: "The event.", schema: BillingEventDetails },
    run: ({ ctx, params }) => showBillingEvent(ctx, params.id),
  }),

  replayBillingEvent: operation({
    id: "replayBillingEvent",
    summary: "Apply a billing event again",
    description:
      "Parses the event's payload again, and applies the event again. Every event counts once and in its original position: two operators may replay an event at the same time. An event that is applied for the first time may notify the owner, once, if it is not older than a day; an event that was processed before notifies nobody.",
    ...CHANGE,
    params: BillingIdParams,
    body: Replay,
    isBodyOptional: true,
    errors: ["not_found"],
    examples: { "With a reason": { reason: "The store's outage is over" } },
    response: {
      description: "The outcome for the event. `failed` is not an error of the request.",
      schema: ReplayedEvent,
      examples: { Processed: { id: ID, eventId: EVENT_ID, type: "RENEWAL", status: "processed", reason: null } },
    },
    run: ({ ctx, operator, params, body }) => replayEvent(ctx, operator, params.id, body),
    form: { after: ({ id, status }) => ({ to: `/console/billing/events/${id}`, done: `event_${status}` }) },
  }),

  listBillingProducts: operation({
    id: "listBillingProducts",
    summary: "List the products that were bought",
    description:
      "Lists every product that was bought, 500 at most, with the entitlements that its purchases give. A subscription without an entitlement is active, and gives access to nothing that an app checks by entitlement.",
    ...READ,
    query: BillingProductsQuery,
    response: {
      description: "The products, by provider and id.",
      schema: BillingProducts,
      examples: {
        "A product without an entitlement": {
          products: [
            {
              provider: "stripe",
              productId: "prod_NWjs8kKbJWmuuc",
              purchases: 12,
              entitlementIds: [],
              configuredEntitlementIds: null,
              withoutEntitlement: 12,
            },
          ],
        },
      },
    },
    run: ({ ctx, query }) => listBillingProducts(ctx, query),
  }),

  pruneBillingPayloads: operation({
    id: "pruneBillingPayloads",
    summary: "Delete old payloads",
    description:
      "Deletes the payloads of deliveries older than `BILLING_PAYLOAD_RETENTION_DAYS`, of 5,000 events at most. Send `nextCursor` as `cursor` until it is null. The events stay, and so do the payloads of failed events.",
    ...CHANGE,
    body: PruneBatch,
    isBodyOptional: true,
    errors: ["retention_not_configured"],
    response: {
      description: "How many payloads were deleted.",
      schema: PrunedBatch,
      examples: { Deleted: { deleted: 230, progress: 1, nextCursor: null } },
    },
    run: ({ ctx, operator, body }) => prunePayloads(ctx, operator, body),
    form: { after: (pruned) => ({ to: batchPage("prune", pruned) }) },
  }),

  showPurchaseTimeline: operation({
    id: "showPurchaseTimeline",
    summary: "Show how a purchase's state came about",
    description:
      "Returns a purchase with its status and the events that determine its state, newest first, each with the state before and after it. The order is the one in which events count, which may differ from their order of arrival.",
    ...READ,
    params: BillingIdParams,
    query: PageQuery,
    errors: ["not_found"],
    response: { description: "The purchase, and a page of its events.", schema: PurchaseTimeline },
    run: ({ ctx, params, query }) => readPurchaseTimeline(ctx, params.id, query),
  }),

  reconcilePurchases: operation({
    id: "reconcilePurchases",
    summary: "Compare customers' purchases with the billing providers",
    description:
      "Asks the billing providers' APIs about an account, or about the next customers of all, and corrects the purchases that differ. Send `nextCursor` as `cursor` until it is null, after `retry.afterSeconds`. A failed customer does not stop the others. It can be interrupted and repeated.",
    ...CHANGE,
    body: Reconciliation,
    errors: ["billing_api_not_configured"],
    examples: { "One account": { accountId: ID }, "All customers": {} },
    response: {
      description: "The outcomes for the customers.",
      schema: ReconciledCustomers,
      examples: {
        Corrected: {
          customers: [{ provider: "revenuecat", appUserId: ID, known: 2, corrected: 1, failure: null }],
          retry: null,
          progress: 1,
          nextCursor: null,
        },
      },
    },
    run: ({ ctx, operator, body }) => reconcileCustomers(ctx, operator, body),
    form: {
      fields: Reconciliation.extend({ failures }),
      toInput: ({ failures: _, ...body }) => ({ body }),
      after: ({ customers, ...part }, { accountId, ...before }) => {
        const failed = customers.filter(({ failure }) => failure !== null).length;
        const isWhole = part.nextCursor === null && failed === 0;
        if (accountId !== undefined) return { done: isWhole ? "reconciled" : "reconcile_failed" };
        const to = batchPage("reconciliations", part, { failures: before.failures + failed });
        return part.retry ? { to, done: "provider_waits" } : { to };
      },
    },
  }),

  replayBillingEvents: operation({
    id: "replayBillingEvents",
    summary: "Apply the next billing events of a state again",
    description:
      "Applies the events of a state again, oldest first: `limit` of them, and for five seconds at most. Send `nextCursor` as `cursor` until it is null. Events that arrive after the first request are left out. Notifications are sent as for the replay of one event. It can be interrupted and repeated.",
    ...CHANGE,
    body: ReplayBatch,
    examples: { "The failed events": { state: "failed", limit: 50 } },
    response: {
      description: "The outcomes for the events.",
      schema: ReplayedBatch,
      examples: { "All processed": { counts: { processed: 12 }, failures: [], progress: 1, nextCursor: null } },
    },
    run: ({ ctx, operator, body }) => replayBatch(ctx, operator, body),
    form: {
      fields: ReplayBatch.omit({ limit: true }).extend({ failures }),
      toInput: ({ failures: _, ...body }) => ({ body: { ...body, limit: MAX_REPLAYED_EVENTS } }),
      after: (replayed, { failures, state }) => ({
        to: batchPage("replays", replayed, { failures: failures + replayed.failures.length, only: state }),
      }),
    },
  }),
};
