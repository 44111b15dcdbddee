import type { Context } from "../../context";
import { type BillingRules, statusRules } from "../../subscriptions/entitlement-rules";
import { endReplacedPurchases } from "../../subscriptions/replacement";
import { purchaseStatus } from "../../subscriptions/status/purchase-status";
import type { AccountPurchase } from "./schema";

const MAX_EVENTS = 100;
const EVENT = {
  id: true,
  eventId: true,
  type: true,
  state: true,
  reason: true,
  occurredAt: true,
  receivedAt: true,
} as const;

/** An account's purchases, latest first, each with its status and its newest events. */
export async function listPurchases(
  { config, db, now }: Pick<Context, "db" | "now"> & { config: BillingRules },
  accountId: string,
): Promise<AccountPurchase[]> {
  const at = now();
  const rules = statusRules(config, accountId);
  const stored = await db.purchase.findMany({
    where: { accountId },
    include: { events: { select: EVENT, orderBy: [{ occurredAt: "desc" }, { id: "desc" }], take: MAX_EVENTS } },
    orderBy: { id: "desc" },
  });
  const ended = endReplacedPurchases(stored);
  return stored.map((purchase, i) => ({ ...purchase, ...purchaseStatus(ended[i] ?? purchase, at, rules) }));
}
