import type { Tx } from "../../context";
import { newId } from "../../db/ids";
import { EMPTY_STATE } from "../fold/periods";
import { StoredPurchase } from "../purchase-state";
import type { KnownEvent, PurchaseKey } from "./decide";
import { type PurchaseToFold, refoldPurchases } from "./refold";

type Attachment = { event: KnownEvent; key: PurchaseKey };
/** `purchase`: the row to insert if it is new. */
type PurchaseToAttach = { purchase: StoredPurchase; newEvents: KnownEvent[] };

/**
 * Attaches events to their purchases and marks them processed. Creates the purchases that are new, and locks all until
 * the transaction ends. Clears the reasons of earlier failures.
 */
export async function attachEvents(tx: Tx, attachments: Attachment[], at: Date): Promise<PurchaseToFold[]> {
  const byKey = new Map<string, PurchaseToAttach>();
  for (const { event, key } of attachments) {
    const name = JSON.stringify(key);
    const known = byKey.get(name);
    if (known) known.newEvents.push(event);
    else byKey.set(name, { purchase: newPurchase(key, event), newEvents: [event] });
  }
  const purchases = [...byKey.values()];
  if (purchases.length === 0) return [];
  const input = purchases.map(({ purchase, newEvents }) => ({ ...purchase, eventIds: newEvents.map(({ id }) => id) }));
  const rows = await tx.$queryRaw<{ newId: string; existing: unknown }[]>`
    WITH given AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(input)}::jsonb) AS given (id uuid, provider text,
        environment text, store text, "originalTransactionId" text, "accountId" uuid, "appUserIds" text[],
        "eventIds" uuid[])
    ), purchase AS (
      INSERT INTO "Purchase" (id, provider, environment, store, "originalTransactionId", "accountId", "appUserIds",
        "entitlementIds", "createdAt", "updatedAt")
      SELECT id, provider, environment, store, "originalTransactionId", "accountId", "appUserIds", '{}',
        ${at}::timestamptz, ${at}::timestamptz
      FROM given ORDER BY provider, environment, store, "originalTransactionId"
      ON CONFLICT (provider, environment, store, "originalTransactionId")
        DO UPDATE SET "updatedAt" = EXCLUDED."updatedAt"
      RETURNING *
    ), placed AS MATERIALIZED (
      SELECT given.id AS "newId", given."eventIds", purchase.id,
        CASE WHEN purchase.id <> given.id THEN to_jsonb(purchase) END AS existing
      FROM given JOIN purchase USING (provider, environment, store, "originalTransactionId")
    ), attached AS (
      UPDATE "BillingEvent" AS event SET state = 'processed', "processedAt" = ${at}::timestamptz,
        "purchaseId" = placed.id,
        reason = CASE WHEN event.state IN ('failed', 'ignored') THEN NULL ELSE event.reason END
      FROM placed WHERE event.id = ANY(placed."eventIds")
    )
    SELECT "newId"::text, existing FROM placed`;
  const existing = new Map(rows.map((row) => [row.newId, row.existing]));
  return purchases.map(({ purchase, newEvents }) => {
    const stored = existing.get(purchase.id);
    return { before: stored ? StoredPurchase.parse(stored) : purchase, newEvents };
  });
}

/** The row of a new purchase. It already has the owner that its event names, so that a later UPDATE writes no index. */
function newPurchase(key: PurchaseKey, { accountId, appUserIds }: KnownEvent): StoredPurchase {
  return { ...EMPTY_STATE, id: newId(), ...key, accountId, appUserIds };
}

/** Locks purchases in the order of their keys, as `attachEvents` does, so that two transactions never wait for each other. */
export async function lockPurchases(tx: Tx, ids: string[]): Promise<StoredPurchase[]> {
  const rows = await tx.$queryRaw<{ purchase: unknown }[]>`
    SELECT to_jsonb(purchase) AS purchase FROM "Purchase" AS purchase WHERE id = ANY(${ids}::uuid[])
    ORDER BY provider, environment, store, "originalTransactionId" FOR UPDATE`;
  return rows.map(({ purchase }) => StoredPurchase.parse(purchase));
}

/**
 * Merges into a purchase another one that turned out to be the same, under a renewal's transaction. Locks the other
 * first, so that an event that is being attached to it is moved too.
 */
export async function mergePurchase(tx: Tx, purchase: StoredPurchase, otherId: string): Promise<void> {
  await lockPurchases(tx, [otherId]);
  const data = { purchaseId: purchase.id, originalTransactionId: purchase.originalTransactionId };
  await tx.billingEvent.updateMany({ where: { purchaseId: otherId }, data });
  await tx.purchase.deleteMany({ where: { id: otherId } });
}

/** Updates a purchase after an event was moved away from it. Deletes it if it has no events left. */
export async function detachEvent(tx: Tx, purchaseId: string, at: Date): Promise<void> {
  for (const before of await lockPurchases(tx, [purchaseId])) {
    const { count } = await tx.purchase.deleteMany({ where: { id: purchaseId, events: { none: {} } } });
    if (count === 0) await refoldPurchases(tx, [{ before, newEvents: [] }], at);
  }
}
