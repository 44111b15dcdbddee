import type { Context, Tx } from "../../context";
import { type BillingEvent, Prisma } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import { identifier, join, seconds, sql } from "../../platform/db/sql";
import { possibleAccountIds, pseudonymOf } from "../app-user-ids";
import type { ProviderEvent } from "../events";

/** An event to store. `payload` is the delivery's body without personal data, or null if there was no delivery. */
export type NewEvent = { provider: string; eventId: string; event: ProviderEvent; payload: unknown; receivedAt: Date };

/** A stored event, without its payload, or one to store. */
export type EventRow = Omit<BillingEvent, "attempts" | "facts" | "nextAttemptAt" | "payload" | "processedAt"> & {
  facts: unknown;
  payload?: unknown;
  /** A purchase with this renewal's own transaction as its original: it was created before the original was known. */
  renewalPurchaseId: string | null;
  /** The original transaction that another event of this transaction names, if this event names none. */
  siblingOriginalTransactionId: string | null;
};

/** The background retry leaves a new event to its delivery for this long. RevenueCat waits 60 s for a response. */
const RETRY_AFTER_SECONDS = 120;
/** The reason of an event that is applied although it names several accounts. */
export const SEVERAL_ACCOUNTS = "names_several_accounts";

/** What an event becomes when it is applied. */
const OUTCOME_COLUMNS = ["accountId", "reason", "state", "processedAt", "purchaseId", "nextAttemptAt"];
const WRITTEN_COLUMNS = Object.keys(Prisma.BillingEventScalarFieldEnum).filter((name) => name !== "attempts");
const GIVEN_COLUMNS = WRITTEN_COLUMNS.filter((name) => !OUTCOME_COLUMNS.includes(name));
const columns = (names: string[]) => join(names.map(identifier));

/** Stores an event, linked to the first account that it names, to be applied. Leaves one that is stored already as it is. */
export async function storeEvent({ db, dbNow }: Pick<Context, "dbNow"> & { db: Tx }, newEvent: NewEvent) {
  const row = JSON.stringify(toRow(newEvent));
  const accountIds = ownerAccountIds(newEvent.event);
  await db.$executeRaw`
    INSERT INTO "BillingEvent" (${columns(GIVEN_COLUMNS)}, "accountId", reason, "nextAttemptAt")
    SELECT ${join(GIVEN_COLUMNS.map((name) => sql`event.${identifier(name)}`))}, named.ids[1],
      CASE WHEN cardinality(named.ids) > 1 THEN ${SEVERAL_ACCOUNTS} END, ${dbNow()} + ${seconds(RETRY_AFTER_SECONDS)}
    FROM jsonb_populate_record(NULL::"BillingEvent", ${row}::jsonb) AS event
    CROSS JOIN (
      SELECT array_agg(id ORDER BY array_position(${accountIds}::uuid[], id)) AS ids
      FROM "Account" WHERE id = ANY(${accountIds}::uuid[])
    ) AS named
    ON CONFLICT (provider, "eventId") DO NOTHING`;
}

const WRITTEN = columns(WRITTEN_COLUMNS);

/**
 * Returns the statement that writes events and their outcomes: inserts those that are new, in the order of their keys, so that
 * no two transactions deadlock, and updates the outcomes of the others.
 */
export function eventUpsert(rows: readonly EventRow[]) {
  return sql`
    INSERT INTO "BillingEvent" AS event (${WRITTEN})
    SELECT ${WRITTEN} FROM jsonb_populate_recordset(NULL::"BillingEvent", ${JSON.stringify(rows)}::jsonb)
    ORDER BY provider, "eventId"
    ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state, reason = EXCLUDED.reason, "purchaseId" = EXCLUDED."purchaseId",
      "processedAt" = COALESCE(EXCLUDED."processedAt", event."processedAt"), "nextAttemptAt" = NULL`;
}

/** The row of an event that is not stored. */
export function toRow({ provider, eventId, event, payload, receivedAt }: NewEvent): EventRow {
  const { occurredAt, purchasedAt } = event.facts;
  return {
    ...event,
    ...storedAppUserIds(event),
    id: newId(),
    provider,
    eventId,
    state: "received",
    reason: null,
    occurredAt,
    purchasedAt,
    receivedAt,
    payload,
    accountId: null,
    purchaseId: null,
    renewalPurchaseId: null,
    siblingOriginalTransactionId: null,
  };
}

/** Returns the possible account ids of the purchase's owner, in order of precedence; of a transfer, of the new owner. */
export function ownerAccountIds({
  appUserIds,
  transferredFrom,
}: Pick<ProviderEvent, "appUserIds" | "transferredFrom">): string[] {
  return possibleAccountIds(appUserIds.filter((id) => !transferredFrom.includes(id)));
}

/**
 * Returns an event's App User IDs as they are stored. A transfer or an alias also gets the pseudonyms of the accounts in
 * it, to find the purchases of a deleted account: a user who signs up again and restores them causes a transfer.
 */
export function storedAppUserIds({ facts, appUserIds, transferredFrom }: ProviderEvent) {
  const previous = facts.identityChange === "alias" ? appUserIds : transferredFrom;
  return {
    appUserIds: [...appUserIds, ...possibleAccountIds(previous).map(pseudonymOf)],
    transferredFrom: [...transferredFrom, ...possibleAccountIds(transferredFrom).map(pseudonymOf)],
  };
}
