import type { Context } from "../../context";
import { newId } from "../../db/ids";
import { possibleAccountIds, pseudonymOf } from "../app-user-ids";
import type { ProviderEvent } from "../events";

/** An event to store. `payload` is the delivery's body without personal data, or null if there was no delivery. */
export type NewEvent = { provider: string; eventId: string; event: ProviderEvent; payload: unknown; receivedAt: Date };

/** The background retry leaves a new event to its delivery for this long. RevenueCat waits 60 s for a response. */
const RETRY_AFTER_SECONDS = 120;

/** Stores an event, linked to the first account that it names. Does nothing if the event is stored already. */
export async function storeEvent({ db, dbNow }: Pick<Context, "db" | "dbNow">, newEvent: NewEvent): Promise<void> {
  const { provider, eventId, event, payload, receivedAt } = newEvent;
  const { facts } = event;
  const accountIds = ownerAccountIds(event);
  const { appUserIds, transferredFrom } = storedAppUserIds(event);
  await db.$executeRaw`
    WITH named AS (SELECT id FROM "Account" WHERE id = ANY(${accountIds}::uuid[]))
    INSERT INTO "BillingEvent" (id, provider, "eventId", type, environment, store, "originalTransactionId",
      "transactionId", "appUserId", "appUserIds", "transferredFrom", "occurredAt", "purchasedAt", "receivedAt",
      facts, payload, "accountId", reason, "nextAttemptAt")
    VALUES (${newId()}::uuid, ${provider}, ${eventId}, ${event.type}, ${event.environment}, ${event.store},
      ${event.originalTransactionId}, ${event.transactionId}, ${event.appUserId}, ${appUserIds}::text[],
      ${transferredFrom}::text[], ${facts.occurredAt}::timestamptz, ${facts.purchasedAt}::timestamptz,
      ${receivedAt}::timestamptz, ${JSON.stringify(facts)}::jsonb, NULLIF(${JSON.stringify(payload)}::jsonb, 'null'),
      (SELECT id FROM named ORDER BY array_position(${accountIds}::uuid[], id) LIMIT 1),
      CASE WHEN (SELECT count(*) FROM named) > 1 THEN 'names_several_accounts' END,
      ${dbNow()} + interval '1 second' * ${RETRY_AFTER_SECONDS}::int)
    ON CONFLICT (provider, "eventId") DO NOTHING`;
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
