import type { Context } from "../../context";
import { idOr, MAX_ID } from "../../platform/db/ids";
import { type PageQuery, readPage } from "../../platform/lists/pages";
import { type BillingRules, statusRules } from "../entitlement-rules";
import { endReplacedPurchases } from "../replacement";
import type { Purchases } from "../schema";
import { purchaseStatus } from "./purchase-status";
import { readEntitlingPurchases } from "./read-status";

/**
 * A page of an account's purchases, newest first: subscriptions, and one-time purchases with or without entitlements. Links
 * purchases that name the account and were stored before it existed. @throws AppError invalid_query
 */
export async function listPurchases(
  { config, db, now }: Pick<Context, "db" | "now"> & { config: BillingRules },
  accountId: string,
  page: PageQuery,
): Promise<Purchases> {
  const { purchases: entitling } = await readEntitlingPurchases(db, accountId);
  const ended = new Map(endReplacedPurchases(entitling).map((purchase) => [purchase.id, purchase]));
  const { entries, nextCursor } = await readPage("purchases", page, ({ after, take }) =>
    db.purchase.findMany({
      where: { accountId, id: { lt: idOr(MAX_ID, after) } },
      orderBy: { id: "desc" },
      take,
    }),
  );
  const [at, rules] = [now(), statusRules(config, accountId)];
  return {
    purchases: entries.map((purchase) => ({
      ...purchaseStatus(ended.get(purchase.id) ?? purchase, at, rules),
      purchaseId: purchase.id,
      originalTransactionId: purchase.originalTransactionId,
    })),
    nextCursor,
  };
}
