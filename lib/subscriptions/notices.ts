import type { Context, Tx } from "../context";
import { enqueue } from "../push/outbox";
import type { EventFacts } from "./events";
import type { Refolded } from "./inbox/purchases";
import { type PurchaseState, StoredPurchase } from "./purchase-state";
import { endReplaced } from "./replacement";
import { type BillingRules, counts, type StatusRules, statusRules } from "./rules";
import type { SubscriptionStatus } from "./schema";
import { accountStatus, isRevoked } from "./status";

type Notice = "billing.payment_failed" | "billing.expired" | "billing.renewed";
type Cause = EventFacts & { provider: string; eventId: string; type: string };

/**
 * News this old are no news: an event that is replayed, or delivered again after days, tells nobody, and neither does
 * what the provider says of long ago when it is asked.
 */
const NEWS_MS = 24 * 60 * 60 * 1000;

/**
 * Tells a purchase's owner what an event has changed, by push, in the event's own transaction: once, however often the
 * event is applied. What does not count for this account, such as a sandbox purchase, is not told, and neither is what
 * changes nothing for the account, since another purchase gives the same.
 */
export async function notifyOwner(
  tx: Tx,
  { config, dbNow, now }: Pick<Context, "dbNow" | "now"> & { config: BillingRules },
  { provider, eventId, type, occurredAt }: Cause,
  { before, after, accountId }: Refolded,
): Promise<void> {
  const kind = noticeOf(type, before, after);
  const happenedAt = type === "SNAPSHOT" ? (after.endedAt ?? after.billingIssueDetectedAt ?? occurredAt) : occurredAt;
  const at = now();
  if (kind === null || accountId === null || at.getTime() - happenedAt.getTime() > NEWS_MS) return;
  const rules = statusRules(config, accountId);
  if (!counts(before, rules)) return;
  if (isCovered(kind, after, await statusWithout(tx, accountId, before.id, at, rules))) return;
  const message = { kind, purchaseId: before.id };
  await enqueue(tx, dbNow(), { eventKey: `billing:${provider}:${eventId}`, to: { accountId }, message });
}

/** What is new on a purchase; null where an event changed nothing that its owner would want to hear of. */
function noticeOf(type: string, before: PurchaseState, after: PurchaseState): Notice | null {
  if (after.billingIssueDetectedAt && !before.billingIssueDetectedAt) return "billing.payment_failed";
  const isOver = after.endedAt !== null && before.endedAt === null && !isRevoked(after);
  if (isOver && after.expirationReason !== "SUBSCRIPTION_PAUSED") return "billing.expired";
  const isLonger = (after.currentPeriodEndsAt?.getTime() ?? 0) > (before.currentPeriodEndsAt?.getTime() ?? 0);
  return type === "RENEWAL" && isLonger ? "billing.renewed" : null;
}

/** Whether the account's other purchases leave nothing to tell: access has not ended, or no payment is needed for it. */
function isCovered(kind: Notice, { entitlementIds }: PurchaseState, others: SubscriptionStatus): boolean {
  if (kind === "billing.renewed" || !others.isActive) return false;
  const active = new Set(others.entitlements.flatMap(({ id, isActive }) => (isActive ? id : [])));
  return kind === "billing.expired" || entitlementIds.every((id) => active.has(id));
}

/** The account's status by its other purchases, without those that this one took the place of. */
async function statusWithout(tx: Tx, accountId: string, purchaseId: string, at: Date, rules: StatusRules) {
  const rows = await tx.$queryRaw<{ purchase: unknown }[]>`
    SELECT to_jsonb(purchase) AS purchase FROM "Purchase" AS purchase WHERE "accountId" = ${accountId}::uuid`;
  const purchases = endReplaced(rows.map(({ purchase }) => StoredPurchase.parse(purchase)));
  return accountStatus(
    purchases.filter(({ id }) => id !== purchaseId),
    at,
    rules,
  );
}
