import type { Context, Tx } from "../../context";
import type { WebhookRecorder } from "../../webhooks/outbox";
import type { BillingRules } from "../entitlement-rules";
import { notifyOwners } from "../notifications/notify-owners";
import { recordStatusChanges } from "../notifications/status-changes";
import { cancelTrialEndings } from "../notifications/trial-endings";
import { wakeApps } from "../notifications/wake-apps";
import { customersToReconcile, scheduleReconcile } from "../reconcile/schedule";
import type { DeliveryReceipt } from "../schema";
import { findConnectedCustomers } from "./customers";
import { type Decision, decide, type KnownEvent } from "./decide";
import { type EventToApply, lockEvents } from "./lock-events";
import { attachEvents, detachEvent, lockPurchases, mergePurchase } from "./purchases";
import { type Refolded, refoldPurchases } from "./refold";

/** The outcome of an event, and the App User IDs of the customers to reconcile because of it. */
export type Applied = { status: DeliveryReceipt["status"]; toReconcile: string[] };
export type ApplyDeps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now"> & {
  webhooks: WebhookRecorder;
  config: BillingRules;
};

/** What an event changed: its own purchase, or those that it moved. */
type Change = { event: KnownEvent; purchases: Refolded[] };
type Of<Kind> = Extract<Decision, { kind: Kind }>;

/**
 * Applies stored events in the caller's transaction: one event, or a batch of different ones in their order of arrival.
 * Returns null for an event that has to be applied in a transaction of its own. `isReplay`: apply processed events too.
 * @throws AppError unavailable if an event is not stored
 */
export async function applyInTransaction(
  deps: ApplyDeps,
  tx: Tx,
  events: readonly EventToApply[],
  isReplay = false,
): Promise<(Applied | null)[]> {
  const options = { isReplay, isBatch: events.length > 1 };
  const locked = await lockEvents(tx, events);
  const decisions = locked.map((event, i) => decide(event, events[i] as EventToApply, options));
  const at = deps.now();
  await rejectEvents(tx, ofKind(decisions, "reject"), at);
  const attached = await applyToPurchases(tx, ofKind(decisions, "attach"), at);
  const moved: Change[] = [];
  for (const { event } of ofKind(decisions, "move")) {
    moved.push({ event, purchases: await changeOwners(tx, event, at) });
  }
  // A replay of a processed event announces nothing.
  const changes = [...attached, ...moved].filter(({ event }) => event.state !== "processed");
  const ofPurchases = changes.flatMap(({ event, purchases }) => purchases.map((one) => ({ event, ...one })));
  await cancelTrialEndings(tx, deps.dbNow, ofPurchases);
  await notifyOwners(tx, deps, ofPurchases);
  await wakeApps(tx, deps, ofPurchases);
  await recordStatusChanges(
    tx,
    deps,
    changes.flatMap(({ purchases }) => purchases),
  );
  const toReconcile = await reconcileChanged(deps, tx, changes);
  return decisions.map((decision) => {
    if (decision.kind === "alone") return null;
    if (decision.kind === "duplicate") return { status: "duplicate", toReconcile: [] };
    if (decision.kind === "reject") return { status: decision.state, toReconcile: [] };
    return { status: "processed", toReconcile: toReconcile.get(decision.event) ?? [] };
  });
}

function ofKind<Kind extends Decision["kind"]>(decisions: Decision[], kind: Kind): Of<Kind>[] {
  return decisions.filter((decision): decision is Of<Kind> => decision.kind === kind);
}

/** Marks events that change no purchase, with the reason: a retry would not. An event that did before leaves its purchase. */
async function rejectEvents(tx: Tx, rejected: Of<"reject">[], at: Date): Promise<void> {
  if (rejected.length === 0) return;
  const ids = rejected.map(({ event }) => event.id);
  const states = rejected.map(({ state }) => state);
  const reasons = rejected.map(({ reason }) => reason);
  await tx.$executeRaw`
    UPDATE "BillingEvent" AS event
    SET state = rejected.state::"BillingEventState", reason = rejected.reason, "purchaseId" = NULL,
      "nextAttemptAt" = NULL
    FROM unnest(${ids}::uuid[], ${states}::text[], ${reasons}::text[]) AS rejected (id, state, reason)
    WHERE event.id = rejected.id`;
  for (const { event } of rejected) if (event.purchaseId) await detachEvent(tx, event.purchaseId, at);
}

/** Returns what each event changed of its purchase, in the order of the events. */
async function applyToPurchases(tx: Tx, attachments: Of<"attach">[], at: Date): Promise<Change[]> {
  const attached = await attachEvents(tx, attachments, at);
  for (const { before, newEvents } of attached) {
    for (const { renewalPurchaseId, purchaseId } of newEvents) {
      if (renewalPurchaseId) await mergePurchase(tx, before, renewalPurchaseId);
      if (purchaseId && purchaseId !== before.id) await detachEvent(tx, purchaseId, at);
    }
  }
  const refolded = await refoldPurchases(tx, attached, at);
  const changes = new Map<KnownEvent, Refolded>();
  for (const [i, { newEvents }] of attached.entries()) {
    for (const [j, event] of newEvents.entries()) changes.set(event, refolded[i]?.[j] as Refolded);
  }
  return attachments.map(({ event }) => ({ event, purchases: [changes.get(event) as Refolded] }));
}

/**
 * Updates the owners of all purchases of the customers in a transfer or an alias. Locks the customers' events first: an
 * event that is being applied has its purchase once the lock is granted.
 */
async function changeOwners(tx: Tx, event: KnownEvent, at: Date): Promise<Refolded[]> {
  await tx.$executeRaw`
    UPDATE "BillingEvent" SET state = 'processed', "processedAt" = ${at}::timestamptz,
      reason = CASE WHEN state IN ('failed', 'ignored') THEN NULL ELSE reason END
    WHERE id = ${event.id}::uuid`;
  const { appUserIds } = await findConnectedCustomers(tx, event.provider, event.appUserIds);
  const rows = await tx.$queryRaw<{ purchaseId: string | null }[]>`
    SELECT "purchaseId" FROM "BillingEvent" WHERE id = ANY(ARRAY(
      SELECT id FROM "BillingEvent"
      WHERE provider IS NOT DISTINCT FROM ${event.provider} AND "appUserIds" && ${appUserIds}::text[]
        AND type NOT IN ('TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED')
    ))
    ORDER BY id FOR UPDATE`;
  const purchaseIds = new Set(rows.flatMap(({ purchaseId }) => purchaseId ?? []));
  const purchases = await lockPurchases(tx, [...purchaseIds]);
  return (
    await refoldPurchases(
      tx,
      purchases.map((before) => ({ before, newEvents: [] })),
      at,
    )
  ).flat();
}

/** Schedules the customers of the changes that need it to be reconciled. Returns their App User IDs by event. */
async function reconcileChanged(deps: ApplyDeps, tx: Tx, changes: Change[]): Promise<Map<KnownEvent, string[]>> {
  const found = new Map<KnownEvent, string[]>();
  if (!deps.billing) return found;
  for (const { event, purchases } of changes) found.set(event, await customersToReconcile(tx, event, purchases));
  await scheduleReconcile(tx, deps.dbNow, [...found.values()].flat());
  return found;
}
