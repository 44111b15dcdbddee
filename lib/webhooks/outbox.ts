import type { Prisma } from "../platform/db/generated/client";
import { newId } from "../platform/db/ids";
import type { Tx } from "../platform/db/transaction";
import type { NewWebhookEvent, WebhookEventType } from "./events";

export type WebhookRecorder = ReturnType<typeof createWebhookRecorder>;

/** Creates what records events. `subscribed` returns the types that have an endpoint; null while they are not known. */
export function createWebhookRecorder(
  { dbNow }: { dbNow: () => Prisma.Sql },
  subscribed: () => ReadonlySet<string> | null,
) {
  /**
   * Whether an endpoint may subscribe to a type, from memory: without endpoints, events cost nothing. Another process's
   * new endpoint is known after the next refresh. Before the first one, the answer is yes.
   */
  const isSubscribed = (type: WebhookEventType): boolean => subscribed()?.has(type) ?? true;
  return {
    isSubscribed,
    /** Records events in the transaction of what happened: one statement, or none if nobody subscribes to them. */
    record: async (tx: Tx, events: readonly NewWebhookEvent[]): Promise<void> => {
      const recorded = events.filter(({ type }) => isSubscribed(type));
      if (recorded.length > 0) await insertEvents(tx, dbNow(), recorded);
    },
  };
}

/**
 * Inserts events with a delivery for each enabled endpoint of their types, in the transaction of what happened. An event
 * without an endpoint is not inserted; one whose endpoint is disabled is, so that it can be replayed. Waits for an endpoint
 * that is being deleted: a delivery to it would fail the transaction.
 */
async function insertEvents(tx: Tx, now: Prisma.Sql, events: readonly NewWebhookEvent[]): Promise<void> {
  await tx.$executeRaw`
    WITH event AS (
      INSERT INTO "WebhookEvent" ("id", "type", "data", "accountId", "occurredAt")
      SELECT new."id", new."type", new."data"::jsonb, new."accountId", ${now} FROM unnest(
        ${events.map(() => newId())}::uuid[], ${events.map(({ type }) => type)}::text[],
        ${events.map(({ data }) => JSON.stringify(data))}::text[],
        ${events.map(({ accountId }) => accountId)}::uuid[]) AS new ("id", "type", "data", "accountId")
      WHERE EXISTS (SELECT FROM "WebhookEndpoint" WHERE new."type" = ANY("eventTypes"))
      RETURNING "id", "type", "occurredAt"
    )
    INSERT INTO "WebhookDelivery" ("eventId", "endpointId", "nextAttemptAt")
    SELECT event."id", endpoint."id", event."occurredAt" FROM event JOIN "WebhookEndpoint" AS endpoint
      ON event."type" = ANY(endpoint."eventTypes") AND endpoint."disabledAt" IS NULL
    FOR KEY SHARE OF endpoint`;
}
