import type { Context, Tx } from "../../context";
import { newId } from "../../platform/db/ids";
import type { WebhookRecorder } from "../../webhooks/outbox";
import type { BillingRules } from "../entitlement-rules";
import { EMPTY_STATE } from "../fold/periods";
import { announceChanges } from "../notifications/announce-changes";
import type { StoredPurchase } from "../purchase-state";
import type { Reference } from "../references";
import type { DeliveryReceipt } from "../schema";
import { findConnectedCustomers } from "./customers";
import { attachToNamed, type Decision, decide, nameOf, type ParsedEvent, type PurchaseKey } from "./decide";
import { foldPurchases, type PurchaseToFold, purchaseUpsert, type Refolded, refoldPurchases } from "./fold";
import { type EventToApply, keyOf, lockEvents, lockPurchases, lockRelated } from "./lock";
import { eventUpsert, SEVERAL_ACCOUNTS, toRow } from "./store";

/** The outcome of an event, and the customers to reconcile because of it. */
export type Applied = { status: DeliveryReceipt["status"]; toReconcile: Reference[] };
export type ApplyDeps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now"> & {
  webhooks: WebhookRecorder;
  config: BillingRules;
};

/**
 * `isReplay`: apply events even if they are processed, and announce nothing then, unless `shouldAnnounce` is set; each
 * notification of an event is sent once. `shouldSkipUnprocessed`: leave those that are not processed, since the later call
 * sees what was committed before.
 */
export type ApplyOptions = { isReplay?: boolean; shouldAnnounce?: boolean; shouldSkipUnprocessed?: boolean };

type Attachment = Extract<Decision, { kind: "attach" }>;

/**
 * Applies different events in the caller's transaction, in their order of arrival: locks them and their purchases, folds the
 * purchases, and writes each event and each purchase once. Stores the new events with that. Those that say who owns a
 * customer's purchases must be stored before. Returns the outcomes by the keys of the events. A stored event that is missing
 * has none, nor has a new one that has to be stored first: it is stored already, or another event of its transaction names
 * another original transaction.
 * @throws Error if an event cannot be applied, or if another transaction has stored one of the events or created one of
 * the purchases meanwhile
 */
export async function applyEvents(
  deps: ApplyDeps,
  tx: Tx,
  events: readonly EventToApply[],
  { isReplay = false, shouldAnnounce = !isReplay, shouldSkipUnprocessed = false }: ApplyOptions = {},
): Promise<Map<string, Applied>> {
  const at = deps.now();
  const isDuplicate = (state: string) => (state === "processed" ? !isReplay : shouldSkipUnprocessed);
  const stored = await lockEvents(tx, events);
  const decisions = attachToNamed(
    events.map(({ newEvent, ...key }) => {
      const row = newEvent ? toRow(newEvent) : stored.get(keyOf(key));
      return row && !isDuplicate(row.state) ? decide(row, newEvent?.event.facts) : null;
    }),
  );
  for (const decision of decisions) if (decision?.kind === "attach") await mergeRenewal(tx, decision, at);
  const related = await lockRelated(tx, events, decisions);
  const existing = new Set(related.accountIds);
  const given = events.map(({ accountIds, newEvent }, i) => {
    const decision = decisions[i] ?? null;
    if (!decision || !newEvent) return decision;
    if (related.states[i] || related.haveSiblings[i]) return null;
    const [accountId = null, ...others] = accountIds.filter((id) => existing.has(id));
    const reason = others.length > 0 ? SEVERAL_ACCOUNTS : null;
    return { ...decision, event: { ...decision.event, accountId, reason } };
  });
  const toWrite = given.filter((decision) => decision !== null);
  const changes = await writeDecisions(tx, toWrite, related.purchases, at);
  const toAnnounce = changes.filter(({ event }) => event.state !== "processed" || shouldAnnounce);
  const toReconcile = await announceChanges(tx, deps, toAnnounce);
  const outcomes = new Map<string, Applied>();
  for (const [i, event] of events.entries()) {
    const [decision, state] = [given[i], stored.get(keyOf(event))?.state ?? related.states[i]];
    if (decision) outcomes.set(keyOf(event), outcomeOf(decision, toReconcile));
    else if (state && isDuplicate(state)) outcomes.set(keyOf(event), { status: "duplicate", toReconcile: [] });
  }
  return outcomes;
}

function outcomeOf(decision: Decision, toReconcile: Map<ParsedEvent, Reference[]>): Applied {
  if (decision.kind === "reject") return { status: decision.state, toReconcile: [] };
  return { status: "processed", toReconcile: toReconcile.get(decision.event) ?? [] };
}

/**
 * Folds events into their purchases, and writes both in one statement. It fails if another transaction has stored one of
 * the new events meanwhile, by the unique key, or created a purchase, by the events' foreign key. Then updates the
 * purchases whose owners events change, and those that events were attached to before. Returns what the events changed, in
 * their order.
 */
async function writeDecisions(tx: Tx, decisions: readonly Decision[], stored: readonly StoredPurchase[], at: Date) {
  if (decisions.length === 0) return [];
  const purchases = groupByPurchase(decisions, stored);
  const events = decisions.map(({ event }) => event);
  const refolded = await foldPurchases(tx, purchases, events);
  const changed = new Map<ParsedEvent, Refolded[]>();
  for (const [i, { newEvents }] of purchases.entries()) {
    for (const [j, event] of newEvents.entries()) changed.set(event, refolded[i]?.slice(j, j + 1) ?? []);
  }
  const rows = decisions.map((decision) => {
    const purchaseId = changed.get(decision.event)?.[0]?.after.id ?? null;
    return { ...decision.event, ...outcomeColumns(decision, at), purchaseId };
  });
  const count = await tx.$executeRaw`WITH purchase AS (${purchaseUpsert(refolded, at)}) ${eventUpsert(rows)}`;
  if (count < rows.length) throw new Error("the database did not write every event"); // it must not be acknowledged
  for (const [i, { kind, event }] of decisions.entries()) {
    if (kind === "change_owners") changed.set(event, await changeOwners(tx, event, at));
    if (event.purchaseId && event.purchaseId !== rows[i]?.purchaseId) await detachEvent(tx, event.purchaseId, at);
  }
  return events.flatMap((event) => {
    const purchases = changed.get(event);
    return purchases ? [{ event, purchases }] : [];
  });
}

/** An event that is rejected is not retried, and one that is applied loses the reason of an earlier rejection. */
function outcomeColumns(decision: Decision, at: Date) {
  if (decision.kind === "reject") return { state: decision.state, reason: decision.reason, processedAt: null };
  const { state, reason: before } = decision.event;
  const reason = state === "failed" || state === "ignored" ? null : before;
  return { state: "processed", reason, processedAt: at } as const;
}

function groupByPurchase(decisions: readonly Decision[], stored: readonly StoredPurchase[]): PurchaseToFold[] {
  const existing = new Map(stored.map((purchase) => [nameOf(purchase), purchase]));
  const toFold = new Map<string, PurchaseToFold>();
  for (const decision of decisions) {
    if (decision.kind !== "attach") continue;
    const { event, key } = decision;
    const name = nameOf(key);
    const known = toFold.get(name);
    if (known) known.newEvents.push(event);
    else toFold.set(name, { before: existing.get(name) ?? newPurchase(key, event), newEvents: [event] });
  }
  return [...toFold.values()];
}

/** The row of a new purchase. It already has the owner that its event names, so that a later UPDATE writes no index. */
export function newPurchase(
  key: PurchaseKey,
  { accountId, appUserIds }: Pick<StoredPurchase, "accountId" | "appUserIds">,
): StoredPurchase {
  return { ...EMPTY_STATE, id: newId(), ...key, accountId, appUserIds, updatedAt: null };
}

/**
 * Merges into an event's purchase the one that was created under its renewal's own transaction, if there is one. Locks that
 * one first, so that an event that is being attached to it is included.
 */
async function mergeRenewal(tx: Tx, { event, key }: Attachment, at: Date): Promise<void> {
  if (!event.renewalPurchaseId) return;
  const purchase = newPurchase(key, event);
  await tx.$executeRaw(purchaseUpsert([[{ before: purchase, after: purchase }]], at));
  const { id } = await tx.purchase.findUniqueOrThrow({
    where: { provider_environment_store_originalTransactionId: key },
    select: { id: true },
  });
  await lockPurchases(tx, [event.renewalPurchaseId]);
  const data = { purchaseId: id, originalTransactionId: key.originalTransactionId };
  await tx.billingEvent.updateMany({ where: { purchaseId: event.renewalPurchaseId }, data });
  await tx.purchase.deleteMany({ where: { id: event.renewalPurchaseId } });
}

/** Updates a purchase after an event was detached from it. Deletes it if it has no events left. */
async function detachEvent(tx: Tx, purchaseId: string, at: Date): Promise<void> {
  for (const before of await lockPurchases(tx, [purchaseId])) {
    const { count } = await tx.purchase.deleteMany({ where: { id: purchaseId, events: { none: {} } } });
    if (count === 0) await refoldPurchases(tx, [{ before, newEvents: [] }], at);
  }
}

/**
 * Updates the owners of all purchases of the customers in a transfer or an alias. Locks the customers' events first: an
 * event that is being applied has its purchase once the lock is granted.
 */
async function changeOwners(tx: Tx, event: ParsedEvent, at: Date): Promise<Refolded[]> {
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
