import type { Tx } from "../../context";
import { newId } from "../../platform/db/ids";
import { EMPTY_STATE } from "../fold/periods";
import { StoredPurchase } from "../purchase-state";
import type { ParsedEvent, PurchaseKey } from "./decide-event";
import { refoldPurchases } from "./refold";

/**
 * Attaches an event to its purchase and marks it processed. Creates the purchase if it is new, and locks it until the
 * transaction ends. Clears the reason of an earlier failure. Returns the purchase as it was.
 */
export async function attachEvent(tx: Tx, event: ParsedEvent, key: PurchaseKey, at: Date): Promise<StoredPurchase> {
  const given = newPurchase(key, event);
  const rows = await tx.$queryRaw<{ existing: unknown }[]>`
    WITH purchase AS (
      INSERT INTO "Purchase" (id, provider, environment, store, "originalTransactionId", "accountId", "appUserIds",
        "entitlementIds", "createdAt", "updatedAt")
      VALUES (${given.id}::uuid, ${key.provider}, ${key.environment}, ${key.store}, ${key.originalTransactionId},
        ${given.accountId}::uuid, ${given.appUserIds}::text[], '{}', ${at}::timestamptz, ${at}::timestamptz)
      ON CONFLICT (provider, environment, store, "originalTransactionId")
        DO UPDATE SET "updatedAt" = EXCLUDED."updatedAt"
      RETURNING *
    ), attached AS (
      UPDATE "BillingEvent" AS event SET state = 'processed', "processedAt" = ${at}::timestamptz,
        "purchaseId" = purchase.id,
        reason = CASE WHEN event.state IN ('failed', 'ignored') THEN NULL ELSE event.reason END
      FROM purchase WHERE event.id = ${event.id}::uuid
    )
    SELECT to_jsonb(purchase) AS existing FROM purchase WHERE id <> ${given.id}::uuid`;
  return rows[0] ? StoredPurchase.parse(rows[0].existing) : given;
}

/** The row of a new purchase. It already has the owner that its event names, so that a later UPDATE writes no index. */
export function newPurchase(key: PurchaseKey, { accountId, appUserIds }: ParsedEvent): StoredPurchase {
  return { ...EMPTY_STATE, id: newId(), ...key, accountId, appUserIds };
}

/** Locks purchases in the order of their keys, as `applyNewEvents` does, so that no two transactions deadlock. */
export async function lockPurchases(tx: Tx, ids: string[]): Promise<StoredPurchase[]> {
  const rows = await tx.$queryRaw<{ purchase: unknown }[]>`
    SELECT to_jsonb(purchase) AS purchase FROM "Purchase" AS purchase WHERE id = ANY(${ids}::uuid[])
    ORDER BY provider, environment, store, "originalTransactionId" FOR UPDATE`;
  return rows.map(({ purchase }) => StoredPurchase.parse(purchase));
}

/**
 * Merges into a purchase another one that turned out to be the same, under a renewal's transaction. Locks the other
 * first, so that an event that is being attached to it is included.
 */
export async function mergePurchase(tx: Tx, purchase: StoredPurchase, otherId: string): Promise<void> {
  await lockPurchases(tx, [otherId]);
  const data = { purchaseId: purchase.id, originalTransactionId: purchase.originalTransactionId };
  await tx.billingEvent.updateMany({ where: { purchaseId: otherId }, data });
  await tx.purchase.deleteMany({ where: { id: otherId } });
}

/** Updates a purchase after an event was detached from it. Deletes it if it has no events left. */
export async function detachEvent(tx: Tx, purchaseId: string, at: Date): Promise<void> {
  for (const before of await lockPurchases(tx, [purchaseId])) {
    const { count } = await tx.purchase.deleteMany({ where: { id: purchaseId, events: { none: {} } } });
    if (count === 0) await refoldPurchases(tx, [{ before, newEvents: [] }], at);
  }
}
