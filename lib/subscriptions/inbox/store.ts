import type { Context } from "../../context";
import type { ProviderEvent } from "../events";
import { possibleAccountIds } from "../identities";

/** An event with where it came from. `payload` is the delivery as it may be kept; null where there was none. */
export type Incoming = { provider: string; eventId: string; event: ProviderEvent; payload: unknown; receivedAt: Date };

/** Stores an event unless it is there already, linked to the first account that it names. */
export async function storeEvent({ db }: Pick<Context, "db">, incoming: Incoming): Promise<void> {
  const { provider, eventId, event, payload, receivedAt } = incoming;
  const { facts } = event;
  const accountIds = ownerIds(event);
  await db.$executeRaw`
    WITH named AS (SELECT id FROM "Account" WHERE id = ANY(${accountIds}::uuid[]))
    INSERT INTO "BillingEvent" (id, provider, "eventId", type, environment, store, "originalTransactionId",
      "transactionId", "appUserId", identities, "transferredFrom", "occurredAt", "purchasedAt", "receivedAt",
      normalized, payload, "accountId", reason)
    VALUES (gen_random_uuid(), ${provider}, ${eventId}, ${event.type}, ${event.environment}, ${event.store},
      ${event.originalTransactionId}, ${event.transactionId}, ${event.appUserId}, ${event.identities}::text[],
      ${event.transferredFrom}::text[], ${facts.occurredAt}::timestamptz, ${facts.purchasedAt}::timestamptz,
      ${receivedAt}::timestamptz, ${JSON.stringify(facts)}::jsonb, NULLIF(${JSON.stringify(payload)}::jsonb, 'null'),
      (SELECT id FROM named ORDER BY array_position(${accountIds}::uuid[], id) LIMIT 1),
      CASE WHEN (SELECT count(*) FROM named) > 1 THEN 'names_several_accounts' END)
    ON CONFLICT (provider, "eventId") DO NOTHING`;
}

/** The accounts that may own what an event is about, in order: of a transfer, whoever it goes to. */
export function ownerIds({ identities, transferredFrom }: ProviderEvent): string[] {
  return possibleAccountIds(identities.filter((name) => !transferredFrom.includes(name)));
}
