import type { Context } from "../context";
import { MAX_COUNTED } from "../platform/lists";
import { QueuePriority } from "../push/notifications";

type Deps = Pick<Context, "db" | "dbNow">;

/** How many rows wait, at most `MAX_COUNTED`, and for how many seconds the oldest has been due; null if none is due. */
export type Queues = {
  failedEvents: number;
  pendingEvents: number;
  pendingEventsSeconds: number | null;
  queuedPush: number;
  duePushSeconds: number | null;
  queuedEmails: number;
  retriedEmails: number;
  dueEmailsSeconds: number | null;
  /** Accounts of children without a parent's consent. */
  withdrawnConsents: number;
  /** Webhook endpoints: all, those that fail, and those that the service has disabled. */
  webhookEndpoints: number;
  failingWebhooks: number;
  disabledWebhooks: number;
};

/** Reads the billing inbox, withdrawn consents, the outbox of notifications, the queue of emails and the webhook endpoints. Each by an index, and bounded. */
export async function readQueues({ db, dbNow }: Deps): Promise<Queues | undefined> {
  const now = dbNow();
  const [queues] = await db.$queryRaw<Queues[]>`
    SELECT
      (SELECT count(*)::int FROM (
        SELECT 1 FROM "BillingEvent" WHERE "state" = 'failed' LIMIT ${MAX_COUNTED}::int
      ) AS failed) AS "failedEvents",
      (SELECT count(*)::int FROM (
        SELECT 1 FROM "BillingEvent" WHERE "state" = 'received' AND "nextAttemptAt" < 'infinity' LIMIT ${MAX_COUNTED}::int
      ) AS pending) AS "pendingEvents",
      (SELECT extract(epoch FROM ${now} - min("receivedAt"))::float8
        FROM "BillingEvent" WHERE "state" = 'received' AND "nextAttemptAt" < 'infinity') AS "pendingEventsSeconds",
      (SELECT count(*)::int FROM (
        SELECT 1 FROM "QueuedPush" WHERE "leaseUntil" IS NULL AND "queuePriority" >= 0 LIMIT ${MAX_COUNTED}::int
      ) AS queued) AS "queuedPush",
      (SELECT extract(epoch FROM ${now} - min(oldest."at"))::float8
        FROM unnest(${Object.values(QueuePriority)}::smallint[]) AS class("priority") CROSS JOIN LATERAL (
          SELECT "nextAttemptAt" AS "at" FROM "QueuedPush"
          WHERE "leaseUntil" IS NULL AND "queuePriority" = class."priority" AND "nextAttemptAt" <= ${now}
          ORDER BY "nextAttemptAt" LIMIT 1
        ) AS oldest) AS "duePushSeconds",
      (SELECT count(*)::int FROM (
        SELECT 1 FROM "QueuedEmail" WHERE "nextAttemptAt" < 'infinity' LIMIT ${MAX_COUNTED}::int
      ) AS queued) AS "queuedEmails",
      (SELECT count(*)::int FROM (
        SELECT "attempts" FROM "QueuedEmail" WHERE "nextAttemptAt" < 'infinity' LIMIT ${MAX_COUNTED}::int
      ) AS queued WHERE "attempts" > 0) AS "retriedEmails",
      (SELECT extract(epoch FROM ${now} - min("nextAttemptAt"))::float8
        FROM "QueuedEmail" WHERE "nextAttemptAt" <= ${now}) AS "dueEmailsSeconds",
      (SELECT count(*)::int FROM (
        SELECT 1 FROM "Account" WHERE "consentWithdrawnAt" < 'infinity' LIMIT ${MAX_COUNTED}::int
      ) AS withdrawn) AS "withdrawnConsents",
      webhook.*
    FROM (
      SELECT count(*)::int AS "webhookEndpoints",
        count(*) FILTER (WHERE "disabledAt" IS NULL AND "failingSince" IS NOT NULL)::int AS "failingWebhooks",
        count(*) FILTER (WHERE "disabledReason" IN ('gone', 'failing'))::int AS "disabledWebhooks"
      FROM "WebhookEndpoint"
    ) AS webhook`;
  return queues;
}
