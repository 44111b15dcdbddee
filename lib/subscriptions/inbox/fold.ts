import type { Tx } from "../../context";
import { Prisma } from "../../platform/db/generated/client";
import { sql } from "../../platform/db/sql";
import { possibleAccountIds } from "../app-user-ids";
import { isPurchaseEvent, StoredEvent, toOwnerEvent, toPurchaseEvent } from "../events";
import { foldPurchase } from "../fold/fold-purchase";
import { ownerAppUserIds } from "../ownership";
import { PurchaseState, type StoredPurchase } from "../purchase-state";
import { findConnectedCustomers, STORED_EVENT, transfersOf } from "./customers";
import type { ParsedEvent } from "./decide";

/** A locked purchase, and the events that this transaction has attached to it, in their order of arrival. */
export type PurchaseToFold = { before: StoredPurchase; newEvents: ParsedEvent[] };

export type Refolded = { before: StoredPurchase; after: StoredPurchase };

export type PurchaseChange = Refolded & { event: ParsedEvent };

/**
 * Folds the processed events of purchases again, and stores their states and owners: one statement reads all events, one
 * writes all purchases. Returns for each purchase what each of its new events changed, or the whole change if it has
 * none. The events are stored, and the caller holds the purchases' locks.
 */
export async function refoldPurchases(tx: Tx, purchases: PurchaseToFold[], at: Date): Promise<Refolded[][]> {
  if (purchases.length === 0) return [];
  const refolded = await foldPurchases(tx, purchases);
  await tx.$executeRaw(purchaseUpsert(refolded, at));
  return refolded;
}

/**
 * Reads the processed events of purchases, and folds them again. Returns for each purchase what each of its new events
 * changes, as if they were applied one after the other, or the whole change if it has none. `unstored`: all events that
 * the transaction will insert, of other purchases too, since they may name more App User IDs of a purchase's customers.
 */
export async function foldPurchases(tx: Tx, purchases: PurchaseToFold[], unstored: readonly ParsedEvent[] = []) {
  if (purchases.length === 0) return [];
  const histories = await readHistories(tx, purchases, unstored);
  const versions = histories.map(versionsOf);
  const accounts = await findAccounts(tx, histories, versions.flat());
  return purchases.map(({ before }, i) => {
    let last = before;
    return (versions[i] ?? []).map(({ state, appUserIds }) => {
      const accountId = possibleAccountIds(appUserIds).find((id) => accounts.has(id)) ?? null;
      const step = { before: last, after: { ...last, ...state, appUserIds, accountId } };
      last = step.after;
      return step;
    });
  });
}

/** The columns that a fold computes. */
const COLUMNS = [...Object.keys(PurchaseState.shape), "accountId", "appUserIds"];
const SET_COLUMNS = Prisma.raw(COLUMNS.map((name) => `"${name}" = EXCLUDED."${name}"`).join());
const INSERTED_COLUMNS = Prisma.raw(
  [...COLUMNS, "id", "provider", "environment", "store", "originalTransactionId"].map((name) => `"${name}"`).join(),
);

/**
 * Returns the statement that writes purchases as their last events leave them: inserts those that are new, in the order of
 * their keys, and updates the others. It leaves a purchase that another transaction has created meanwhile, under another id.
 */
export function purchaseUpsert(refolded: Refolded[][], at: Date) {
  const rows = JSON.stringify(refolded.flatMap((steps) => steps.at(-1)?.after ?? []));
  return sql`
    INSERT INTO "Purchase" AS purchase (${INSERTED_COLUMNS}, "createdAt", "updatedAt")
    SELECT ${INSERTED_COLUMNS}, ${at}::timestamptz, ${at}::timestamptz
    FROM jsonb_populate_recordset(NULL::"Purchase", ${rows}::jsonb)
    ORDER BY provider, environment, store, "originalTransactionId"
    ON CONFLICT (provider, environment, store, "originalTransactionId")
      DO UPDATE SET ${SET_COLUMNS}, "updatedAt" = EXCLUDED."updatedAt" WHERE purchase.id = EXCLUDED.id`;
}

/**
 * All events of a purchase: those that were attached before, and the new ones. `transfers` and `aliases` are those of
 * other events that name its customers.
 */
type PurchaseHistory = PurchaseToFold & { earlier: StoredEvent[]; transfers: StoredEvent[]; aliases: string[][] };

type Version = { state: PurchaseState; appUserIds: string[] };

/** Folds a history up to each of its new events. Pure. */
function versionsOf({ before, earlier, newEvents, transfers, aliases }: PurchaseHistory): Version[] {
  const ownTransfers = transfersOf(before, transfers);
  const until = newEvents.length > 0 ? newEvents.map((_, i) => i + 1) : [0];
  return until.map((count) => {
    const events = [...earlier, ...newEvents.slice(0, count)].filter(isPurchaseEvent);
    return {
      state: foldPurchase(events.map(toPurchaseEvent)),
      appUserIds: ownerAppUserIds([...events.map(toOwnerEvent), ...ownTransfers], aliases),
    };
  });
}

async function readHistories(tx: Tx, purchases: PurchaseToFold[], unstored: readonly ParsedEvent[]) {
  const rows = await readEvents(tx, purchases);
  const byPurchase = new Map<string, typeof rows>(purchases.map(({ before }) => [before.id, []]));
  for (const row of rows) byPurchase.get(row.purchaseId)?.push(row);
  const histories: PurchaseHistory[] = [];
  for (const purchase of purchases) {
    const own = byPurchase.get(purchase.before.id) ?? [];
    const earlier = own.flatMap(({ event }) => (event === null ? [] : StoredEvent.parse(event)));
    const events = [...earlier, ...purchase.newEvents].filter(isPurchaseEvent);
    const appUserIds = new Set(events.flatMap((event) => event.appUserIds));
    const { provider } = purchase.before;
    const isConnected =
      own.some(({ event }) => event === null) || unstored.some((one) => hasOtherAppUserIds(one, provider, appUserIds));
    const connected = isConnected
      ? await findConnectedCustomers(tx, provider, [...appUserIds], unstored)
      : { transfers: [], aliases: [] };
    histories.push({ ...purchase, earlier, ...connected });
  }
  return histories;
}

/** Whether an event names a customer with these App User IDs, and another id. */
function hasOtherAppUserIds(event: ParsedEvent, provider: string, appUserIds: Set<string>): boolean {
  if (event.provider !== provider || event.appUserIds.length < 2) return false;
  return event.appUserIds.some((id) => appUserIds.has(id)) && !event.appUserIds.every((id) => appUserIds.has(id));
}

/**
 * Reads the events of purchases except the new ones, which may not be stored yet. They are all processed. A row without
 * an event says that other events name more App User IDs of the purchase's customers, or transfer purchases between
 * them.
 */
async function readEvents(tx: Tx, purchases: PurchaseToFold[]) {
  const ids = purchases.map(({ before }) => before.id);
  const newEvents = purchases.flatMap(({ before, newEvents }) =>
    newEvents.map(({ id, provider, appUserIds }) => ({ id, purchaseId: before.id, provider, appUserIds })),
  );
  return tx.$queryRaw<{ purchaseId: string; event: unknown }[]>`
    WITH new AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(newEvents)}::jsonb) AS new (id uuid, "purchaseId" uuid,
        provider text, "appUserIds" text[])
    ), earlier AS MATERIALIZED (
      SELECT * FROM "BillingEvent" WHERE "purchaseId" = ANY(${ids}::uuid[]) AND id <> ALL(SELECT id FROM new)
    ), customer AS MATERIALIZED (
      SELECT "purchaseId", provider, array_agg(DISTINCT id) AS "appUserIds"
      FROM (
        SELECT "purchaseId", provider, "appUserIds" FROM earlier
        UNION ALL SELECT "purchaseId", provider, "appUserIds" FROM new
      ) AS event, unnest(event."appUserIds") AS id GROUP BY "purchaseId", provider
    )
    SELECT "purchaseId", ${STORED_EVENT} AS event FROM earlier
    UNION ALL
    SELECT "purchaseId", NULL FROM customer WHERE EXISTS (
      SELECT 1 FROM "BillingEvent" AS other
      WHERE other."appUserIds" && customer."appUserIds" AND cardinality(other."appUserIds") > 1
        AND other.provider IS NOT DISTINCT FROM customer.provider
        AND (cardinality(other."transferredFrom") > 0 OR NOT other."appUserIds" <@ customer."appUserIds"))`;
}

/** Returns the accounts among the owners' possible account ids. Those that an event is linked to need no query. */
async function findAccounts(tx: Tx, histories: PurchaseHistory[], versions: Version[]): Promise<Set<string>> {
  const linked = histories.flatMap(({ earlier, newEvents, transfers }) => [...earlier, ...newEvents, ...transfers]);
  const known = new Set(linked.flatMap(({ accountId }) => accountId ?? []));
  const unknown = versions.flatMap(({ appUserIds }) => {
    const ids = possibleAccountIds(appUserIds);
    return ids[0] !== undefined && known.has(ids[0]) ? [] : ids;
  });
  if (unknown.length === 0) return known;
  const accounts = await tx.account.findMany({ where: { id: { in: unknown } }, select: { id: true } });
  return new Set([...known, ...accounts.map(({ id }) => id)]);
}
