import type { Tx } from "../../context";
import { newId } from "../../db/ids";
import { possibleAccountIds } from "../app-user-ids";
import { type PurchaseEvent, PurchaseEventType } from "../events";
import { foldPurchase } from "../fold/fold-purchase";
import { type OwnerEvent, ownerAppUserIds } from "../ownership";
import { type PurchaseState, StoredPurchase } from "../purchase-state";
import { findConnectedCustomers, StoredEvent, transfersOf } from "./customers";

/** The unique key of a purchase. */
export type PurchaseKey = Pick<StoredPurchase, "provider" | "environment" | "store" | "originalTransactionId">;

/** A purchase before it was folded again, its state after, and its account now. */
export type Refolded = { before: StoredPurchase; after: PurchaseState; accountId: string | null };

/**
 * Attaches an event to its purchase and marks it processed. Creates the purchase if it is new, and locks it until the
 * transaction ends. Clears the reason of an earlier failure.
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
    ), attached AS (
      UPDATE "BillingEvent" AS event SET state = 'processed', "processedAt" = ${at}::timestamptz, "purchaseId" = purchase.id,
        reason = CASE WHEN event.state IN ('failed', 'ignored') THEN NULL ELSE event.reason END
      FROM purchase WHERE event.id = ${eventRowId}::uuid
    )
    SELECT to_jsonb(purchase) AS purchase FROM purchase`;
  return StoredPurchase.parse(row?.purchase);
}

/** Locks purchases in the order of their ids, so that two transactions never wait for each other. */
export async function lockPurchases(tx: Tx, ids: string[]): Promise<StoredPurchase[]> {
  const rows = await tx.$queryRaw<{ purchase: unknown }[]>`
    SELECT to_jsonb(purchase) AS purchase FROM "Purchase" AS purchase WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR UPDATE`;
  return rows.map(({ purchase }) => StoredPurchase.parse(purchase));
}

/** Folds the processed events of a purchase again, and stores its state and its owner. The caller holds its lock. */
export async function refoldPurchase(tx: Tx, before: StoredPurchase, at: Date): Promise<Refolded> {
  const stored = await readEvents(tx, before);
  const events = stored.events.flatMap(toPurchaseEvent);
  const after = foldPurchase(events);
  const owner = await findOwner(tx, before, stored);
  await tx.purchase.updateMany({ where: { id: before.id }, data: { ...after, ...owner, updatedAt: at } });
  return { before, after, accountId: owner.accountId };
}

function toPurchaseEvent({ eventId, type, facts }: StoredEvent): PurchaseEvent[] {
  const known = PurchaseEventType.safeParse(type);
  return known.success ? [{ id: eventId, type: known.data, ...facts }] : [];
}

type PurchaseEvents = {
  events: StoredEvent[];
  /** Whether other events name more App User IDs of these customers, or transfer purchases between them. */
  isConnected: boolean;
};

/** Determines the owner: the App User IDs in order of precedence, and the account of the first that has one. */
async function findOwner(tx: Tx, purchase: StoredPurchase, { events, isConnected }: PurchaseEvents) {
  const ownEvents = events.filter(({ type }) => PurchaseEventType.safeParse(type).success).map(toOwnerEvent);
  const named = [...new Set(ownEvents.flatMap((event) => event.appUserIds))];
  const { transfers, aliases } = isConnected
    ? await findConnectedCustomers(tx, purchase.provider, named)
    : { transfers: [], aliases: [] };
  const appUserIds = ownerAppUserIds([...ownEvents, ...transfersOf(purchase, transfers)], aliases);
  const knownAccounts = [...events, ...transfers].map((event) => event.accountId);
  return { appUserIds, accountId: await findFirstAccount(tx, possibleAccountIds(appUserIds), knownAccounts) };
}

function toOwnerEvent({ eventId, facts, appUserIds }: StoredEvent): OwnerEvent {
  return { id: eventId, occurredAt: facts.occurredAt, appUserIds, transferredFrom: null };
}

/** Reads the events of a purchase. They are all processed. */
async function readEvents(tx: Tx, { id, provider }: StoredPurchase): Promise<PurchaseEvents> {
  // PostgreSQL uses the index on "appUserIds" only for a join.
  const rows = await tx.$queryRaw<{ event: unknown; isConnected: boolean }[]>`
    WITH customer AS MATERIALIZED (
      SELECT array_agg(DISTINCT name) AS names FROM "BillingEvent" AS own, unnest(own."appUserIds") AS name
      WHERE own."purchaseId" = ${id}::uuid
    ), connected AS MATERIALIZED (
      SELECT 1 FROM customer JOIN "BillingEvent" AS other ON other."appUserIds" && customer.names
      WHERE other.provider = ${provider}
        AND (cardinality(other."transferredFrom") > 0 OR NOT other."appUserIds" <@ customer.names)
    )
    SELECT jsonb_build_object('eventId', "eventId", 'type', type, 'environment', environment, 'store', store, 'facts',
      facts, 'appUserIds', "appUserIds", 'transferredFrom', "transferredFrom", 'accountId', "accountId") AS event,
      EXISTS (SELECT 1 FROM connected) AS "isConnected"
    FROM "BillingEvent" WHERE "purchaseId" = ${id}::uuid`;
  return { events: rows.map(({ event }) => StoredEvent.parse(event)), isConnected: rows[0]?.isConnected ?? false };
}

/** Returns the first of the ids that is an account's. `known` lists accounts that need no query. */
async function findFirstAccount(tx: Tx, ids: string[], known: (string | null)[]): Promise<string | null> {
  const [first] = ids;
  if (first === undefined || known.includes(first)) return first ?? null;
  const accounts = await tx.account.findMany({ where: { id: { in: ids } }, select: { id: true } });
  return ids.find((id) => accounts.some((account) => account.id === id)) ?? null;
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
  for (const purchase of await lockPurchases(tx, [purchaseId])) {
    const { count } = await tx.purchase.deleteMany({ where: { id: purchaseId, events: { none: {} } } });
    if (count === 0) await refoldPurchase(tx, purchase, at);
  }
}
