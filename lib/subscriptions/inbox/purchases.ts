import type { Tx } from "../../context";
import { newId } from "../../db/ids";
import { possibleAccountIds } from "../app-user-ids";
import { type PurchaseEvent, PurchaseEventType } from "../events";
import { foldPurchase } from "../fold/fold-purchase";
import { ownerNames } from "../ownership";
import { type PurchaseState, StoredPurchase } from "../purchase-state";
import { connectedPeople, StoredEvent, transfersFor } from "./identity-changes";

/** What makes events one purchase. */
export type PurchaseKey = Pick<StoredPurchase, "provider" | "environment" | "store" | "originalTransactionId">;

/** A purchase as it was before it was folded anew, its state now, and whose it is now. */
export type Refolded = { before: StoredPurchase; after: PurchaseState; accountId: string | null };

/**
 * Puts an event on its purchase, as processed, and locks that purchase until the transaction ends, making it where it is new.
 * The reason of an earlier failure is out of date then.
 */
export async function attachEvent(tx: Tx, eventRowId: string, key: PurchaseKey, at: Date): Promise<StoredPurchase> {
  const [row] = await tx.$queryRaw<{ purchase: unknown }[]>`
    WITH purchase AS (
      INSERT INTO "Purchase"
        (id, provider, environment, store, "originalTransactionId", "appUserIds", "entitlementIds", "createdAt", "updatedAt")
      VALUES (${newId()}::uuid, ${key.provider}, ${key.environment}, ${key.store}, ${key.originalTransactionId},
        '{}', '{}', ${at}::timestamptz, ${at}::timestamptz)
      ON CONFLICT (provider, environment, store, "originalTransactionId")
        DO UPDATE SET "updatedAt" = EXCLUDED."updatedAt"
      RETURNING *
    ), joined AS (
      UPDATE "BillingEvent" AS event SET state = 'processed', "processedAt" = ${at}::timestamptz, "purchaseId" = purchase.id,
        reason = CASE WHEN event.state IN ('failed', 'ignored') THEN NULL ELSE event.reason END
      FROM purchase WHERE event.id = ${eventRowId}::uuid
    )
    SELECT to_jsonb(purchase) AS purchase FROM purchase`;
  return StoredPurchase.parse(row?.purchase);
}

/** Locks purchases that are there, in an order in which nobody waits in a circle. */
export async function lockPurchases(tx: Tx, ids: string[]): Promise<StoredPurchase[]> {
  const rows = await tx.$queryRaw<{ purchase: unknown }[]>`
    SELECT to_jsonb(purchase) AS purchase FROM "Purchase" AS purchase WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR UPDATE`;
  return rows.map(({ purchase }) => StoredPurchase.parse(purchase));
}

/** Folds a purchase anew from its processed events, and settles whose it is. The caller holds its lock. */
export async function refoldPurchase(tx: Tx, before: StoredPurchase, at: Date): Promise<Refolded> {
  const { rows, isConnected } = await readEvents(tx, before);
  const events = rows.flatMap(({ eventId, type, facts, ...row }) => {
    const known = PurchaseEventType.safeParse(type);
    return known.success ? { ...row, event: { id: eventId, type: known.data, ...facts } satisfies PurchaseEvent } : [];
  });
  const after = foldPurchase(events.map(({ event }) => event));
  const names = [...new Set(events.flatMap(({ appUserIds }) => appUserIds))];
  const people = isConnected ? await connectedPeople(tx, before.provider, names) : { transfers: [], aliases: [] };
  const claims = events.map(({ event, appUserIds }) => ({ ...event, names: appUserIds, from: null }));
  const appUserIds = ownerNames([...claims, ...transfersFor(before, people.transfers)], people.aliases);
  const known = [...rows, ...people.transfers].map((row) => row.accountId);
  const accountId = await firstAccount(tx, possibleAccountIds(appUserIds), known);
  const data = { ...after, appUserIds, accountId, updatedAt: at };
  await tx.purchase.updateMany({ where: { id: before.id }, data });
  return { before, after, accountId };
}

/**
 * A purchase's events, which are the processed ones, and whether another event says anything about the people that they
 * name: that they have one more name, or that they hand purchases to each other.
 */
async function readEvents(
  tx: Tx,
  { id, provider }: StoredPurchase,
): Promise<{ rows: StoredEvent[]; isConnected: boolean }> {
  // The index on names is not used unless the names are joined.
  const rows = await tx.$queryRaw<{ event: unknown; isConnected: boolean }[]>`
    WITH people AS MATERIALIZED (
      SELECT array_agg(DISTINCT name) AS names FROM "BillingEvent" AS own, unnest(own."appUserIds") AS name
      WHERE own."purchaseId" = ${id}::uuid
    ), others AS MATERIALIZED (
      SELECT 1 FROM people JOIN "BillingEvent" AS other ON other."appUserIds" && people.names
      WHERE other.provider = ${provider}
        AND (cardinality(other."transferredFrom") > 0 OR NOT other."appUserIds" <@ people.names)
    )
    SELECT jsonb_build_object('eventId', "eventId", 'type', type, 'environment', environment, 'store', store, 'facts',
      facts, 'appUserIds', "appUserIds", 'transferredFrom', "transferredFrom", 'accountId', "accountId") AS event,
      EXISTS (SELECT 1 FROM others) AS "isConnected"
    FROM "BillingEvent" WHERE "purchaseId" = ${id}::uuid`;
  return { rows: rows.map(({ event }) => StoredEvent.parse(event)), isConnected: rows[0]?.isConnected ?? false };
}

/** The first of these ids that is an account's. `known` are accounts that need not be looked up. */
async function firstAccount(tx: Tx, ids: string[], known: (string | null)[]): Promise<string | null> {
  const [first] = ids;
  if (first === undefined || known.includes(first)) return first ?? null;
  const accounts = await tx.account.findMany({ where: { id: { in: ids } }, select: { id: true } });
  return ids.find((id) => accounts.some((account) => account.id === id)) ?? null;
}

/**
 * Takes over what stands on a purchase that turned out to be this one, under another transaction. It is locked first: an
 * event that is joining it at this moment comes along.
 */
export async function mergePurchase(tx: Tx, purchase: StoredPurchase, otherId: string): Promise<void> {
  await lockPurchases(tx, [otherId]);
  const data = { purchaseId: purchase.id, originalTransactionId: purchase.originalTransactionId };
  await tx.billingEvent.updateMany({ where: { purchaseId: otherId }, data });
  await tx.purchase.deleteMany({ where: { id: otherId } });
}

/** Settles a purchase that an event has left, since it is read differently now. One without events goes. */
export async function detachEvent(tx: Tx, purchaseId: string, at: Date): Promise<void> {
  for (const purchase of await lockPurchases(tx, [purchaseId])) {
    const { count } = await tx.purchase.deleteMany({ where: { id: purchaseId, events: { none: {} } } });
    if (count === 0) await refoldPurchase(tx, purchase, at);
  }
}
