import type { Context, Tx } from "../../context";
import type { WebhookRecorder } from "../../webhooks/outbox";
import type { BillingRules } from "../entitlement-rules";
import { announceChanges } from "../notifications/announce-changes";
import type { DeliveryReceipt } from "../schema";
import { findConnectedCustomers } from "./customers";
import { type Decision, decide, type ParsedEvent, type PurchaseKey } from "./decide-event";
import { type EventToApply, lockEvent } from "./lock-event";
import { attachEvent, detachEvent, lockPurchases, mergePurchase } from "./purchases";
import { type Refolded, refoldPurchases } from "./refold";

/** The outcome of an event, and the App User IDs of the customers to reconcile because of it. */
export type Applied = { status: DeliveryReceipt["status"]; toReconcile: string[] };
export type ApplyDeps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now"> & {
  webhooks: WebhookRecorder;
  config: BillingRules;
};

type RejectDecision = Extract<Decision, { kind: "reject" }>;

export type ApplyOptions = { isReplay: boolean; shouldAnnounce: boolean; shouldSkipUnprocessed: boolean };

/**
 * Applies a stored event in the caller's transaction. `isReplay`: apply it even if it is processed. `shouldAnnounce`:
 * announce what it changes even if it is processed; each notification of an event is sent once.
 * `shouldSkipUnprocessed`: leave it if it is not processed, since the later call sees what was committed before.
 * @throws AppError unavailable if the event is not stored
 */
export async function applyInTransaction(
  deps: ApplyDeps,
  tx: Tx,
  event: EventToApply,
  { isReplay, shouldAnnounce, shouldSkipUnprocessed }: ApplyOptions,
): Promise<Applied> {
  const locked = await lockEvent(tx, event);
  if (locked.state === "processed" ? !isReplay : shouldSkipUnprocessed) return { status: "duplicate", toReconcile: [] };
  const decision = decide(locked, event.facts);
  const at = deps.now();
  if (decision.kind === "reject") {
    await rejectEvent(tx, decision, at);
    return { status: decision.state, toReconcile: [] };
  }
  const parsed = decision.event;
  const purchases =
    decision.kind === "change_owners"
      ? await changeOwners(tx, parsed, at)
      : await applyToPurchase(tx, parsed, decision.key, at);
  const changes = locked.state !== "processed" || shouldAnnounce ? [{ event: parsed, purchases }] : [];
  const toReconcile = await announceChanges(tx, deps, changes);
  return { status: "processed", toReconcile: toReconcile.get(parsed) ?? [] };
}

/**
 * Marks an event as ignored or failed, with the reason; it is not retried. Detaches it from the purchase that it
 * changed.
 */
async function rejectEvent(tx: Tx, { event, state, reason }: RejectDecision, at: Date): Promise<void> {
  const data = { state, reason, purchaseId: null, nextAttemptAt: null };
  await tx.billingEvent.updateMany({ where: { id: event.id }, data });
  if (event.purchaseId) await detachEvent(tx, event.purchaseId, at);
}

async function applyToPurchase(tx: Tx, event: ParsedEvent, key: PurchaseKey, at: Date): Promise<Refolded[]> {
  const before = await attachEvent(tx, event, key, at);
  if (event.renewalPurchaseId) await mergePurchase(tx, before, event.renewalPurchaseId);
  if (event.purchaseId && event.purchaseId !== before.id) await detachEvent(tx, event.purchaseId, at);
  return (await refoldPurchases(tx, [{ before, newEvents: [event] }], at)).flat();
}

/**
 * Updates the owners of all purchases of the customers in a transfer or an alias. Locks the customers' events first: an
 * event that is being applied has its purchase once the lock is granted.
 */
async function changeOwners(tx: Tx, event: ParsedEvent, at: Date): Promise<Refolded[]> {
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
  const toFold = purchases.map((before) => ({ before, newEvents: [] }));
  return (await refoldPurchases(tx, toFold, at)).flat();
}
