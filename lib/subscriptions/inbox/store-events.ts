import type { Context, Tx } from "../../context";
import { Prisma } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import { seconds, sql } from "../../platform/db/sql";
import { possibleAccountIds, pseudonymOf } from "../app-user-ids";
import type { ProviderEvent } from "../events";

/** An event to store. `payload` is the delivery's body without personal data, or null if there was no delivery. */
export type NewEvent = { provider: string; eventId: string; event: ProviderEvent; payload: unknown; receivedAt: Date };

/** The background retry leaves a new event to its delivery for this long. RevenueCat waits 60 s for a response. */
const RETRY_AFTER_SECONDS = 120;
/** The reason of an event that is applied although it names several accounts. */
const SEVERAL_ACCOUNTS = "names_several_accounts";

const COLUMNS = [
  "id",
  "provider",
  "eventId",
  "type",
  "environment",
  "store",
  "originalTransactionId",
  "transactionId",
  "appUserId",
  "appUserIds",
  "transferredFrom",
  "occurredAt",
  "purchasedAt",
  "receivedAt",
  "facts",
  "payload",
].map((name) => `"${name}"`);

/**
 * Stores an event, linked to the first account that it names, to be applied. Leaves an event that is stored already as it
 * is. Returns whether it is new.
 */
export async function storeEvent(
  { db, dbNow }: Pick<Context, "dbNow"> & { db: Tx },
  newEvent: NewEvent,
): Promise<boolean> {
  const row = JSON.stringify({ id: newId(), ...toRow(newEvent) });
  const accountIds = ownerAccountIds(newEvent.event);
  const count = await db.$executeRaw`
    INSERT INTO "BillingEvent" (${Prisma.raw(COLUMNS.join())}, "accountId", reason, "nextAttemptAt")
    SELECT ${Prisma.raw(COLUMNS.map((column) => `event.${column}`).join())}, named.ids[1],
      CASE WHEN cardinality(named.ids) > 1 THEN ${SEVERAL_ACCOUNTS} END, ${dbNow()} + ${seconds(RETRY_AFTER_SECONDS)}
    FROM jsonb_populate_record(NULL::"BillingEvent", ${row}::jsonb) AS event
    CROSS JOIN (
      SELECT array_agg(id ORDER BY array_position(${accountIds}::uuid[], id)) AS ids
      FROM "Account" WHERE id = ANY(${accountIds}::uuid[])
    ) AS named
    ON CONFLICT (provider, "eventId") DO NOTHING`;
  return count > 0;
}

/** A new event, and its outcome. */
export type AppliedEvent = {
  newEvent: NewEvent;
  id: string;
  /** The accounts that it names, in order of precedence. It is linked to the first. */
  accountIds: string[];
  purchaseId: string | null;
  state: "processed" | "ignored" | "failed";
  reason: string | null;
};

const APPLIED_COLUMNS = Prisma.raw(
  [...COLUMNS, `"accountId"`, "reason", "state", `"processedAt"`, `"purchaseId"`].join(),
);

/** Returns the statement that inserts applied events, in the order of their keys, so that no two transactions deadlock. */
export function appliedEventsInsert(events: readonly AppliedEvent[], at: Date) {
  const rows = events.map(({ newEvent, id, accountIds, purchaseId, state, reason }) => ({
    ...toRow(newEvent),
    id,
    purchaseId,
    state,
    accountId: accountIds[0] ?? null,
    reason: reason ?? (accountIds.length > 1 ? SEVERAL_ACCOUNTS : null),
    processedAt: state === "processed" ? at : null,
  }));
  return sql`
    INSERT INTO "BillingEvent" (${APPLIED_COLUMNS}, "nextAttemptAt")
    SELECT ${APPLIED_COLUMNS}, NULL FROM jsonb_populate_recordset(NULL::"BillingEvent", ${JSON.stringify(rows)}::jsonb)
    ORDER BY provider, "eventId"`;
}

function toRow({ provider, eventId, event, payload, receivedAt }: NewEvent) {
  const { occurredAt, purchasedAt } = event.facts;
  return { ...event, ...storedAppUserIds(event), provider, eventId, occurredAt, purchasedAt, receivedAt, payload };
}

/** Returns the possible account ids of the purchase's owner, in order of precedence; of a transfer, of the new owner. */
export function ownerAccountIds({ appUserIds, transferredFrom }: ProviderEvent): string[] {
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
