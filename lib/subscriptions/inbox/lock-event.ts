import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { identifier, literals, sql } from "../../platform/db/sql";
import { type EventFacts, IdentityEventType } from "../events";

/** The key of an event in the inbox. `eventId` is the provider's. */
export type EventKey = { provider: string; eventId: string };

/**
 * A stored event to apply. `accountIds`: the accounts that it may be linked to. `facts`: what this process has just
 * stored, so that it need not be parsed again.
 */
export type EventToApply = EventKey & { accountIds: string[]; facts?: EventFacts };

/** An event that the transaction has locked. */
export type LockedEvent = EventKey & {
  id: string;
  state: "received" | "processed" | "ignored" | "failed";
  type: string;
  environment: string | null;
  store: string | null;
  originalTransactionId: string | null;
  appUserId: string | null;
  appUserIds: string[];
  transferredFrom: string[];
  facts: unknown;
  accountId: string | null;
  purchaseId: string | null;
  /** A purchase with this renewal's own transaction as its original: it was created before the original was known. */
  renewalPurchaseId: string | null;
  /** The original transaction that another event of this transaction names, if this event names none. */
  siblingOriginalTransactionId: string | null;
};

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
 * Locks an event until the transaction ends, so that simultaneous deliveries of it are applied one after the other. If it
 * names its original transaction, it is locked with the events of its transaction that do not: they are being applied to
 * a purchase of their own, which this event merges.
 * @throws AppError unavailable if the event is not stored
 */
export async function lockEvent(tx: Tx, event: EventToApply): Promise<LockedEvent> {
  const first = await selectForUpdate(tx, event, sql`${ownRow(event)} UNION ${siblingRows(event)}`);
  // After the wait the siblings' purchase exists: the event is read again.
  const rows = first.length > 1 ? await selectForUpdate(tx, event, ownRow(event)) : first;
  const row = rows.find(({ eventId }) => eventId === event.eventId);
  if (!row) throw new AppError("unavailable");
  return row;
}

/**
 * The order of locks is accounts, events by id, purchases by key. Deleting an account follows it too, so that no two
 * transactions deadlock. The condition on the count makes PostgreSQL lock the accounts first.
 */
function selectForUpdate(tx: Tx, { accountIds }: EventToApply, eventRows: Sql): Promise<LockedEvent[]> {
  return tx.$queryRaw`
    WITH account AS MATERIALIZED (
      SELECT id FROM "Account" WHERE id = ANY(${accountIds}::uuid[]) ORDER BY id FOR KEY SHARE
    ), selected AS MATERIALIZED (${eventRows})
    SELECT id, provider, "eventId", state::text, type, environment, store, "originalTransactionId", "appUserId",
      "appUserIds", "transferredFrom", facts, "accountId", "purchaseId",
      (${RENEWAL_PURCHASE_ID}) AS "renewalPurchaseId",
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

function ownRow({ provider, eventId }: EventKey): Sql {
  return sql`SELECT id FROM "BillingEvent" WHERE provider = ${provider} AND "eventId" = ${eventId}`;
}

/**
 * Events of the same transaction that name no original transaction, if the event itself names one: those that are not
 * applied, and those of another purchase, to be merged. The cast keeps PostgreSQL from reading all unapplied events, by
 * the index that has only those.
 */
function siblingRows({ provider, eventId }: EventKey): Sql {
  return sql`
    SELECT sibling.id FROM "BillingEvent" AS own
    JOIN "BillingEvent" AS sibling ON sibling."transactionId" = own."transactionId" AND sibling.provider IS NOT DISTINCT FROM own.provider
    WHERE own.provider = ${provider} AND own."eventId" = ${eventId}
      AND own."transactionId" <> own."originalTransactionId"
      AND sibling."transactionId" = sibling."originalTransactionId" AND sibling.state::text IN ('received', 'processed')
      AND ${isOfPurchase("own")} AND ${isOfPurchase("sibling")}`;
}

const RENEWAL_PURCHASE_ID = sql`
  SELECT purchase.id FROM "Purchase" AS purchase
  WHERE purchase.provider = event.provider AND purchase.environment = COALESCE(event.environment, 'UNKNOWN')
    AND purchase.store = COALESCE(event.store, 'UNKNOWN')
    AND purchase."originalTransactionId" = event."transactionId"
    AND event."transactionId" <> event."originalTransactionId"`;

const SIBLING_ORIGINAL_TRANSACTION_ID = sql`
  SELECT sibling."originalTransactionId" FROM "BillingEvent" AS sibling
  WHERE event."originalTransactionId" = event."transactionId" AND sibling."transactionId" = event."transactionId"
    AND sibling.provider IS NOT DISTINCT FROM event.provider AND sibling.environment IS NOT DISTINCT FROM event.environment
    AND sibling.store IS NOT DISTINCT FROM event.store
    AND sibling."originalTransactionId" <> event."transactionId" AND sibling.state IN ('received', 'processed')
    AND ${isOfPurchase("sibling")}
  ORDER BY sibling."receivedAt", sibling.id LIMIT 1`;
