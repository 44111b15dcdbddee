import type { Context, Tx } from "../../context";
import { enqueueAll } from "../../push/outbox/enqueue";
import { type BillingRules, canEntitle, readStatusRules, type StatusRules } from "../entitlement-rules";
import type { PurchaseChange } from "../inbox/fold";
import type { PurchaseState, StoredPurchase } from "../purchase-state";
import { endReplacedPurchases } from "../replacement";
import { accountStatus } from "../status/account-status";
import { isRevoked } from "../status/purchase-status";

type BillingNotification = "billing.payment_failed" | "billing.expired" | "billing.renewed";
type RulesOf = (accountId: string) => StatusRules;
type PendingNotification = { change: PurchaseChange; kind: BillingNotification; accountId: string };

/** Older events notify nobody: they are replayed, delivered days later, or found by a reconciliation. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000;

/**
 * Notifies owners of the changes that events made to their purchases, by push, in the events' transaction, and once
 * however often an event is applied. Sends nothing about a purchase that gives no access, such as a sandbox purchase, nor
 * about a change without effect because another purchase of the account gave the same access at that event.
 */
export async function notifyOwners(
  tx: Tx,
  deps: Pick<Context, "dbNow" | "now"> & { config: BillingRules },
  changes: PurchaseChange[],
): Promise<void> {
  const at = deps.now();
  const changed = changes.map(({ after }) => after);
  const rulesOf = await readStatusRules(tx, deps, changed);
  const pending = changes.flatMap((change) => notificationOf(change, rulesOf, at) ?? []);
  const accountIds = pending.flatMap(({ kind, accountId }) => (kind === "billing.renewed" ? [] : accountId));
  const purchases = await readPurchasesOf(tx, accountIds);
  const needed = pending.filter(
    (notification) => !isCovered(notification, purchasesAfter(notification.change, changes, purchases), rulesOf, at),
  );
  if (needed.length === 0) return;
  const events = needed.map(({ change: { before, event }, kind, accountId }) => ({
    eventKey: `billing:${event.provider}:${event.eventId}`,
    to: { accountId },
    message: { kind, purchaseId: before.id },
  }));
  await enqueueAll(tx, deps.dbNow(), events);
}

/** Returns the notification that a change causes, unless other purchases cover it; null for none. */
function notificationOf(change: PurchaseChange, rulesOf: RulesOf, at: Date): PendingNotification | null {
  const { event, before, after } = change;
  const { accountId } = after;
  const kind = notificationKind(event.type, before, after);
  const { occurredAt } = event.facts;
  const happenedAt =
    event.type === "SNAPSHOT" ? (after.endedAt ?? after.billingIssueDetectedAt ?? occurredAt) : occurredAt;
  if (kind === null || accountId === null || at.getTime() - happenedAt.getTime() > MAX_AGE_MS) return null;
  return canEntitle(before, rulesOf(accountId)) ? { change, kind, accountId } : null;
}

/** Returns the kind of notification for a change; null if the owner need not know of it. */
function notificationKind(type: string, before: PurchaseState, after: PurchaseState): BillingNotification | null {
  if (after.billingIssueDetectedAt && !before.billingIssueDetectedAt) return "billing.payment_failed";
  const isOver = after.endedAt !== null && before.endedAt === null && !isRevoked(after);
  if (isOver && after.expirationReason !== "SUBSCRIPTION_PAUSED") return "billing.expired";
  const isLonger = (after.currentPeriodEndsAt?.getTime() ?? 0) > (before.currentPeriodEndsAt?.getTime() ?? 0);
  return type === "RENEWAL" && isLonger ? "billing.renewed" : null;
}

/** Whether other purchases of the account keep its access, so that the end or the failed payment has no effect. */
function isCovered(
  { change, kind, accountId }: PendingNotification,
  purchases: StoredPurchase[],
  rulesOf: RulesOf,
  at: Date,
): boolean {
  if (kind === "billing.renewed") return false;
  const own = purchases.filter((purchase) => purchase.accountId === accountId);
  const others = endReplacedPurchases(own).filter(({ id }) => id !== change.before.id);
  const status = accountStatus(others, at, rulesOf(accountId));
  if (!status.isActive) return false;
  const active = new Set(status.entitlements.flatMap(({ id, isActive }) => (isActive ? id : [])));
  return kind === "billing.expired" || change.after.entitlementIds.every((id) => active.has(id));
}

/** Reads the purchases of accounts, as the transaction leaves them. */
export async function readPurchasesOf(tx: Tx, accountIds: string[]): Promise<StoredPurchase[]> {
  if (accountIds.length === 0) return [];
  return tx.purchase.findMany({ where: { accountId: { in: [...new Set(accountIds)] } }, orderBy: { id: "asc" } });
}

/** Returns the purchases as they were after one change of a batch, before the later ones. */
function purchasesAfter(change: PurchaseChange, changes: PurchaseChange[], purchases: StoredPurchase[]) {
  const next = changes.indexOf(change) + 1;
  const versions = new Map(purchases.map((purchase) => [purchase.id, purchase]));
  for (const { before } of changes.slice(next).reverse()) versions.set(before.id, before);
  for (const { after } of changes.slice(0, next)) versions.set(after.id, after);
  return [...versions.values()];
}
