import type { Context, Tx } from "../context";
import { enqueue } from "../push/outbox/enqueue";
import { type BillingRules, canEntitle, type StatusRules, statusRules } from "./entitlement-rules";
import type { EventFacts } from "./events";
import type { Refolded } from "./inbox/purchases";
import { type PurchaseState, StoredPurchase } from "./purchase-state";
import { endReplacedPurchases } from "./replacement";
import type { SubscriptionStatus } from "./schema";
import { accountStatus, isRevoked } from "./status";

type BillingNotification = "billing.payment_failed" | "billing.expired" | "billing.renewed";
type Cause = EventFacts & { provider: string; eventId: string; type: string };

/** Older events notify nobody: they are replayed, delivered days later, or found by a reconciliation. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000;

/**
 * Notifies a purchase's owner of the change that an event made, by push, in the event's transaction, and once however
 * often the event is applied. Sends nothing about a purchase that gives no access, such as a sandbox purchase, nor about
 * a change without effect because another purchase of the account gives the same access.
 */
export async function notifyOwner(
  tx: Tx,
  { config, dbNow, now }: Pick<Context, "dbNow" | "now"> & { config: BillingRules },
  { provider, eventId, type, occurredAt }: Cause,
  { before, after, accountId }: Refolded,
): Promise<void> {
  const kind = notificationFor(type, before, after);
  const happenedAt = type === "SNAPSHOT" ? (after.endedAt ?? after.billingIssueDetectedAt ?? occurredAt) : occurredAt;
  const at = now();
  if (kind === null || accountId === null || at.getTime() - happenedAt.getTime() > MAX_AGE_MS) return;
  const rules = statusRules(config, accountId);
  if (!canEntitle(before, rules)) return;
  if (isCoveredByOthers(kind, after, await statusWithout(tx, accountId, before.id, at, rules))) return;
  const message = { kind, purchaseId: before.id };
  await enqueue(tx, dbNow(), { eventKey: `billing:${provider}:${eventId}`, to: { accountId }, message });
}

/** Returns the notification for a change; null if the owner need not know of it. */
function notificationFor(type: string, before: PurchaseState, after: PurchaseState): BillingNotification | null {
  if (after.billingIssueDetectedAt && !before.billingIssueDetectedAt) return "billing.payment_failed";
  const isOver = after.endedAt !== null && before.endedAt === null && !isRevoked(after);
  if (isOver && after.expirationReason !== "SUBSCRIPTION_PAUSED") return "billing.expired";
  const isLonger = (after.currentPeriodEndsAt?.getTime() ?? 0) > (before.currentPeriodEndsAt?.getTime() ?? 0);
  return type === "RENEWAL" && isLonger ? "billing.renewed" : null;
}

/** Whether other purchases of the account keep its access, so that the end or the failed payment has no effect. */
function isCoveredByOthers(
  kind: BillingNotification,
  { entitlementIds }: PurchaseState,
  others: SubscriptionStatus,
): boolean {
  if (kind === "billing.renewed" || !others.isActive) return false;
  const active = new Set(others.entitlements.flatMap(({ id, isActive }) => (isActive ? id : [])));
  return kind === "billing.expired" || entitlementIds.every((id) => active.has(id));
}

/** Returns the account's status without one purchase, and without those that it replaced. */
async function statusWithout(tx: Tx, accountId: string, purchaseId: string, at: Date, rules: StatusRules) {
  const rows = await tx.$queryRaw<{ purchase: unknown }[]>`
    SELECT to_jsonb(purchase) AS purchase FROM "Purchase" AS purchase WHERE "accountId" = ${accountId}::uuid`;
  const purchases = endReplacedPurchases(rows.map(({ purchase }) => StoredPurchase.parse(purchase)));
  return accountStatus(
    purchases.filter(({ id }) => id !== purchaseId),
    at,
    rules,
  );
}
