import type { Context, Tx } from "../../context";
import { identifier, literals, sql } from "../../platform/db/sql";
import { IdentityEventType } from "../events";
import { StoredPurchase } from "../purchase-state";
import type { Decision } from "./decide";
import type { EventRow, NewEvent } from "./store";

/** The key of an event in the inbox. `eventId` is the provider's. */
export type EventKey = { provider: string; eventId: string };

/**
 * An event to apply: `newEvent` if it is to be stored with that, else one that is stored. `accountIds`: the accounts that it
 * may be linked to.
 */
export type EventToApply = EventKey & { accountIds: string[]; newEvent?: NewEvent };

export const keyOf = ({ provider, eventId }: EventKey) => `${provider}:${eventId}`;

type Sql = ReturnType<Context["dbNow"]>;

/**
 * As SQL, whether an event neither transfers purchases nor links customers. What an event that does so says about a
 * transaction does not count, since events before it would not know of it. `alias` is that of the event's table.
 */
export const isOfPurchase = (alias: "event" | "own" | "sibling"): Sql =>
  sql`${identifier(alias)}.type NOT IN (${literals(IdentityEventType.options)})`;

// Here and in other queries, `IS NOT DISTINCT FROM` compares the provider: with `=`, PostgreSQL may read all events of the
// provider by the index on it, instead of a few by their transaction or their App User IDs.

/**
 * Locks those events that are stored until the transaction ends, so that simultaneous deliveries of one are applied one after
 * the other. An event that names its original transaction is locked with the events of its transaction that do not: they are
 * being applied to a purchase of their own, which this event merges. Returns the events by their keys.
 */
export async function lockEvents(tx: Tx, events: readonly EventToApply[]): Promise<Map<string, EventRow>> {
  const stored = events.filter(({ newEvent }) => !newEvent);
  if (stored.length === 0) return new Map();
  const accountIds = accountIdsOf(events);
  const first = await selectForUpdate(tx, accountIds, sql`${ownRows(stored)} UNION ${siblingRows(stored)}`);
  // After the wait the siblings' purchase exists: the events are read again.
  const rows = first.length > stored.length ? await selectForUpdate(tx, accountIds, ownRows(stored)) : first;
  return new Map(rows.map((row) => [keyOf(row), row]));
}

const accountIdsOf = (events: readonly EventToApply[]) => [...new Set(events.flatMap(({ accountIds }) => accountIds))];

/**
 * The order of locks is accounts, events by id, purchases by key. Deleting an account follows it too, so that no two
 * transactions deadlock. The condition on the count makes PostgreSQL lock the accounts first.
 */
function selectForUpdate(tx: Tx, accountIds: string[], eventRows: Sql): Promise<EventRow[]> {
  return tx.$queryRaw`
    WITH account AS MATERIALIZED (
      SELECT id FROM "Account" WHERE id = ANY(${accountIds}::uuid[]) ORDER BY id FOR KEY SHARE
    ), selected AS MATERIALIZED (${eventRows})
    SELECT id, provider, "eventId", state::text, reason, type, environment, store, "originalTransactionId", "transactionId",
      "appUserId", "appUserIds", "transferredFrom", "occurredAt", "purchasedAt", "receivedAt", facts, "accountId", "purchaseId",
      COALESCE((${RENEWAL_PURCHASE_ID}), (${IMPORTED_PURCHASE_ID})) AS "renewalPurchaseId",
      (${SIBLING_ORIGINAL_TRANSACTION_ID}) AS "siblingOriginalTransactionId"
    FROM "BillingEvent" AS event
    WHERE id = ANY(ARRAY(SELECT id FROM selected)) AND (SELECT count(*) FROM account) >= 0
    ORDER BY id FOR UPDATE OF event`;
}

/** The keys of events, as a table that SQL can join. */
export function keysOf(events: readonly EventKey[]): Sql {
  const providers = events.map(({ provider }) => provider);
  const eventIds = events.map(({ eventId }) => eventId);
  return sql`unnest(${providers}::text[], ${eventIds}::text[]) AS key (provider, "eventId")`;
}

function ownRows(events: readonly EventKey[]): Sql {
  return sql`SELECT id FROM ${keysOf(events)} JOIN "BillingEvent" USING (provider, "eventId")`;
}

/**
 * Events of the same transactions that name no original transaction, where the events themselves name one: those that are
 * not applied, and those of another purchase, to be merged. The cast keeps PostgreSQL from reading all unapplied events, by
 * the index that has only those.
 */
function siblingRows(events: readonly EventKey[]): Sql {
  return sql`
    SELECT sibling.id FROM ${keysOf(events)} JOIN "BillingEvent" AS own USING (provider, "eventId")
    JOIN "BillingEvent" AS sibling ON sibling."transactionId" = own."transactionId" AND sibling.provider IS NOT DISTINCT FROM own.provider
    WHERE own."transactionId" <> own."originalTransactionId"
      AND sibling."transactionId" = sibling."originalTransactionId" AND sibling.state::text IN ('received', 'processed')
      AND ${isOfPurchase("own")} AND ${isOfPurchase("sibling")}`;
}

/**
 * As SQL, the purchase of an event that an import or a reconciliation has stored under another transaction: RevenueCat's API
 * names only the newest one of an App Store subscription, and this event is the first to name the original. `table` is that of
 * the event, and `productId` its product. Starts with the customer's purchases: PostgreSQL would read all purchases for the
 * first that fits.
 */
const importedPurchaseOf = (table: "event" | "given", productId: Sql): Sql => {
  const event = identifier(table);
  return sql`
    SELECT min(imported.id::text)::uuid
    FROM (SELECT * FROM "Purchase" WHERE "appUserIds" && ${event}."appUserIds" OFFSET 0) AS imported
    WHERE ${event}."transactionId" <> ${event}."originalTransactionId"
      AND ${event}.provider = 'revenuecat' AND ${event}.store IN ('APP_STORE', 'MAC_APP_STORE')
      AND NOT EXISTS (
        SELECT 1 FROM "Purchase" AS named
        WHERE named.provider = ${event}.provider AND named.environment = COALESCE(${event}.environment, 'UNKNOWN')
          AND named.store = ${event}.store AND named."originalTransactionId" = ${event}."originalTransactionId")
      AND imported.provider IS NOT DISTINCT FROM ${event}.provider
      AND imported.environment = COALESCE(${event}.environment, 'UNKNOWN') AND imported.store = ${event}.store
      AND imported."productId" IS NOT DISTINCT FROM ${productId} AND imported."periodType" IS NOT NULL
      AND NOT EXISTS (
        SELECT 1 FROM "BillingEvent" AS own WHERE own."purchaseId" = imported.id AND own.type NOT IN ('IMPORT', 'SNAPSHOT'))`;
};

const RENEWAL_PURCHASE_ID = sql`
  SELECT purchase.id FROM "Purchase" AS purchase
  WHERE purchase.provider = event.provider AND purchase.environment = COALESCE(event.environment, 'UNKNOWN')
    AND purchase.store = COALESCE(event.store, 'UNKNOWN')
    AND purchase."originalTransactionId" = event."transactionId"
    AND event."transactionId" <> event."originalTransactionId"`;
const IMPORTED_PURCHASE_ID = importedPurchaseOf("event", sql`event.facts->>'productId'`);

const SIBLING_ORIGINAL_TRANSACTION_ID = sql`
  SELECT sibling."originalTransactionId" FROM "BillingEvent" AS sibling
  WHERE event."originalTransactionId" = event."transactionId" AND sibling."transactionId" = event."transactionId"
    AND sibling.provider IS NOT DISTINCT FROM event.provider AND sibling.environment IS NOT DISTINCT FROM event.environment
    AND sibling.store IS NOT DISTINCT FROM event.store
    AND sibling."originalTransactionId" <> event."transactionId" AND sibling.state IN ('received', 'processed')
    AND ${isOfPurchase("sibling")}
  ORDER BY sibling."receivedAt", sibling.id LIMIT 1`;

/** What is stored and concerns events. */
type Related = {
  /** The accounts that the events may be linked to. */
  accountIds: string[];
  /** The purchases that the events are about. */
  purchases: StoredPurchase[];
  /** The state of each event that is stored already; null for one that is not. */
  states: (string | null)[];
  /** Whether another event or purchase names the transaction of a new event with another original transaction. */
  haveSiblings: boolean[];
};

const NO_KEY = { environment: null, store: null, originalTransactionId: null };

/**
 * Locks the accounts that events may be linked to, then the purchases that they are about and that exist, in the order of
 * their keys. New events are inserted after that, then the purchases that are new, both in the order of their keys. The
 * condition on the count makes PostgreSQL lock the accounts first. Purchases and events are looked up one by one: PostgreSQL
 * would read whole tables to join them before it has statistics.
 */
export async function lockRelated(tx: Tx, events: readonly EventToApply[], decisions: (Decision | null)[]) {
  const isNeeded = events.some(({ newEvent }, n) => newEvent || decisions[n]?.kind === "attach");
  if (!isNeeded) return { accountIds: [], purchases: [], states: [], haveSiblings: [] };
  const given = events.map(({ provider, eventId, newEvent }, n) => {
    const decision = decisions[n];
    const { environment, store, originalTransactionId: purchase } = decision?.kind === "attach" ? decision.key : NO_KEY;
    const { transactionId, originalTransactionId, appUserIds, facts } = newEvent?.event ?? {};
    const named = { transactionId, originalTransactionId, appUserIds, productId: facts?.productId };
    return { n, provider, eventId, ...named, environment, store, purchase };
  });
  const [found] = await tx.$queryRaw<[Related & { purchases: unknown[] }]>`
    WITH account AS MATERIALIZED (
      SELECT id FROM "Account" WHERE id = ANY(${accountIdsOf(events)}::uuid[]) ORDER BY id FOR KEY SHARE
    ), given AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(given)}::jsonb) AS given (n integer, provider text,
        "eventId" text, "transactionId" text, "originalTransactionId" text, "appUserIds" text[], "productId" text,
        environment text, store text, purchase text)
    ), purchase AS MATERIALIZED (
      SELECT * FROM "Purchase" WHERE id = ANY(ARRAY(
          SELECT (
            SELECT id FROM "Purchase" AS one
            WHERE one.provider = given.provider AND one.environment = given.environment AND one.store = given.store
              AND one."originalTransactionId" = given.purchase)
          FROM given))
        AND (SELECT count(*) FROM account) >= 0
      ORDER BY provider, environment, store, "originalTransactionId" FOR UPDATE
    )
    SELECT ARRAY(SELECT id::text FROM account) AS "accountIds",
      (SELECT coalesce(jsonb_agg(purchase), '[]') FROM purchase) AS purchases,
      ARRAY(
        SELECT (
          SELECT state::text FROM "BillingEvent" AS stored
          WHERE stored.provider = given.provider AND stored."eventId" = given."eventId")
        FROM given ORDER BY n
      ) AS states,
      ARRAY(
        SELECT
          EXISTS (
            SELECT 1 FROM "BillingEvent" AS sibling
            WHERE sibling."transactionId" = given."transactionId" AND sibling.provider IS NOT DISTINCT FROM given.provider
              AND COALESCE(sibling.environment, 'UNKNOWN') = given.environment
              AND COALESCE(sibling.store, 'UNKNOWN') = given.store
              AND sibling."originalTransactionId" <> given."originalTransactionId")
          OR EXISTS (
            SELECT 1 FROM "Purchase" AS other
            WHERE other.provider = given.provider AND other.environment = given.environment
              AND other.store = given.store AND other."originalTransactionId" = given."transactionId"
              AND given."transactionId" <> given."originalTransactionId")
          OR (${importedPurchaseOf("given", sql`given."productId"`)}) IS NOT NULL
        FROM given ORDER BY n
      ) AS "haveSiblings"`;
  return { ...found, purchases: found.purchases.map((purchase) => StoredPurchase.parse(purchase)) };
}

/** Locks purchases in the order of their keys, so that no two transactions deadlock. */
export async function lockPurchases(tx: Tx, ids: string[]): Promise<StoredPurchase[]> {
  const rows = await tx.$queryRaw<{ purchase: unknown }[]>`
    SELECT to_jsonb(purchase) AS purchase FROM "Purchase" AS purchase WHERE id = ANY(${ids}::uuid[])
    ORDER BY provider, environment, store, "originalTransactionId" FOR UPDATE`;
  return rows.map(({ purchase }) => StoredPurchase.parse(purchase));
}
