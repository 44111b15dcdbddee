import type { Context, Tx } from "../../context";
import { Prisma } from "../../db/generated/client";
import { newId } from "../../db/ids";
import { seconds } from "../../db/sql";
import { possibleAccountIds, pseudonymOf } from "../app-user-ids";
import type { ProviderEvent } from "../events";

/** An event to store. `payload` is the delivery's body without personal data, or null if there was no delivery. */
export type NewEvent = { provider: string; eventId: string; event: ProviderEvent; payload: unknown; receivedAt: Date };

/** The background retry leaves a new event to its delivery for this long. RevenueCat waits 60 s for a response. */
const RETRY_AFTER_SECONDS = 120;

const COLUMNS = [
  ...["id", "provider", "eventId", "type", "environment", "store", "originalTransactionId", "transactionId"],
  ...["appUserId", "appUserIds", "transferredFrom", "occurredAt", "purchasedAt", "receivedAt", "facts", "payload"],
].map((name) => `"${name}"`);

/**
 * Stores events in one statement, each linked to the first account that it names. Leaves an event that is stored already
 * as it is. Returns the ids of those that are new. In the order of their ids, so that no two batches deadlock.
 */
export async function storeEvents(
  { db, dbNow }: Pick<Context, "dbNow"> & { db: Tx },
  newEvents: readonly NewEvent[],
): Promise<Set<string>> {
  const rows = newEvents.map((newEvent) => ({ newEvent, id: newId() }));
  const events = JSON.stringify(rows.map(({ newEvent, id }) => ({ id, ...toRow(newEvent) })));
  const names = JSON.stringify(rows.map(({ newEvent, id }) => ({ id, accountIds: ownerAccountIds(newEvent.event) })));
  const stored = await db.$queryRaw<{ eventId: string }[]>`
    INSERT INTO "BillingEvent" (${Prisma.raw(COLUMNS.join())}, "accountId", reason, "nextAttemptAt")
    SELECT ${Prisma.raw(COLUMNS.map((column) => `event.${column}`).join())}, named.ids[1],
      CASE WHEN cardinality(named.ids) > 1 THEN 'names_several_accounts' END, ${dbNow()} + ${seconds(RETRY_AFTER_SECONDS)}
    FROM jsonb_populate_recordset(NULL::"BillingEvent", ${events}::jsonb) AS event
    JOIN jsonb_to_recordset(${names}::jsonb) AS names (id uuid, "accountIds" uuid[]) ON names.id = event.id
    CROSS JOIN LATERAL (
      SELECT array_agg(account.id ORDER BY array_position(names."accountIds", account.id)) AS ids
      FROM "Account" AS account WHERE account.id = ANY(names."accountIds")
    ) AS named
    ORDER BY event.provider, event."eventId"
    ON CONFLICT (provider, "eventId") DO NOTHING
    RETURNING "eventId"`;
  return new Set(stored.map(({ eventId }) => eventId));
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
