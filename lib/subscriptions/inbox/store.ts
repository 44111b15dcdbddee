import type { Context } from "../../context";
import { newId } from "../../db/ids";
import { possibleAccountIds, pseudonymOf } from "../app-user-ids";
import type { ProviderEvent } from "../events";

/** An event with where it came from. `payload` is the delivery as it may be kept; null where there was none. */
export type Incoming = { provider: string; eventId: string; event: ProviderEvent; payload: unknown; receivedAt: Date };

/** How long an event is left to its delivery before the background step tries to apply it: RevenueCat waits 60 s. */
const RETRY_AFTER_SECONDS = 120;

/** Stores an event unless it is there already, linked to the first account that it names. */
export async function storeEvent({ db, dbNow }: Pick<Context, "db" | "dbNow">, incoming: Incoming): Promise<void> {
  const { provider, eventId, event, payload, receivedAt } = incoming;
  const { facts } = event;
  const accountIds = ownerIds(event);
  const { appUserIds, transferredFrom } = keptNames(event);
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

/** The accounts that may own what an event is about, in order: of a transfer, whoever it goes to. */
export function ownerIds({ appUserIds, transferredFrom }: ProviderEvent): string[] {
  return possibleAccountIds(appUserIds.filter((name) => !transferredFrom.includes(name)));
}

/**
 * An event's names as the inbox keeps them. One that says who is who finds the purchases of a deleted account too, by the
 * stand-in of its id beside the id: somebody who signs up anew and restores purchases is given them by a transfer.
 */
export function keptNames({ facts, appUserIds, transferredFrom }: ProviderEvent) {
  const found = facts.identityChange === "alias" ? appUserIds : transferredFrom;
  return {
    appUserIds: [...appUserIds, ...possibleAccountIds(found).map(pseudonymOf)],
    transferredFrom: [...transferredFrom, ...possibleAccountIds(transferredFrom).map(pseudonymOf)],
  };
}
