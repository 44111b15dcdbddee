import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { recordOperatorEvent } from "../platform/audit/operator-events";
import { readDatabaseTime } from "../platform/db/clock";
import { NIL_ID, newId } from "../platform/db/ids";
import { sql } from "../platform/db/sql";
import type { Operator } from "../principal";
import type { Replay } from "./schema";

type Deps = Pick<Context, "db" | "dbNow" | "now" | "webhooks">;

/** The most events that one statement queues. */
const BATCH_SIZE = 1_000;

/** Attempts a delivery now, from the start of the schedule. @throws AppError not_found, webhook_disabled */
export async function retryDelivery(
  deps: Deps,
  operator: Operator,
  { endpointId, eventId }: { endpointId: string; eventId: string },
): Promise<void> {
  const { db, dbNow, now } = deps;
  await db.$transaction(async (tx) => {
    await requireEnabled(tx, endpointId);
    const nextAttemptAt = await readDatabaseTime({ db: tx, dbNow });
    const data = { state: "pending", attempts: 0, nextAttemptAt };
    const { count: queued } = await tx.webhookDelivery.updateMany({ where: { endpointId, eventId }, data });
    if (queued === 0) throw new AppError("not_found");
    const event = { type: "webhook_replayed", target: `webhook:${endpointId}`, details: { eventId } } as const;
    await recordOperatorEvent(tx, now(), operator, event);
  });
  deps.webhooks.wake();
}

/**
 * Queues the events since a time for an endpoint again: those that failed, and those that happened while it was disabled or
 * before it was created. With `all`, also those that were delivered. Returns how many.
 * @throws AppError not_found, webhook_disabled
 */
export async function replayDeliveries(
  deps: Deps,
  operator: Operator,
  endpointId: string,
  { since, all }: Replay,
): Promise<{ queued: number }> {
  let queued = 0;
  for (let after: Position | undefined = { at: since, id: NIL_ID }; after; ) {
    const batch = await replayBatch(deps, operator, endpointId, { since, all, after });
    queued += batch.queued;
    after = batch.next;
  }
  deps.webhooks.wake();
  return { queued };
}

/** Queues the next events, with an event in the audit trail: a replay that is interrupted has recorded what it queued. */
function replayBatch(
  { db, dbNow, now }: Deps,
  operator: Operator,
  endpointId: string,
  { since, ...batch }: Batch & { since: Date },
): Promise<{ queued: number; next: Position | undefined }> {
  return db.$transaction(async (tx) => {
    const { eventTypes } = await requireEnabled(tx, endpointId);
    const events = await queueBatch({ db: tx, dbNow }, endpointId, { ...batch, eventTypes });
    const queued = events.filter(({ isQueued }) => isQueued).length;
    const next = events.length === BATCH_SIZE ? events.at(-1) : undefined;
    const details = { since: since.toISOString(), all: batch.all, queued };
    const event = { type: "webhook_replayed", target: `webhook:${endpointId}`, details } as const;
    if (queued > 0 || next === undefined) await recordOperatorEvent(tx, now(), operator, event);
    return { queued, next };
  });
}

/** Sends an event of type `webhook.test` to an endpoint. Returns its id. @throws AppError not_found, webhook_disabled */
export async function sendTestEvent(deps: Deps, operator: Operator, endpointId: string): Promise<{ eventId: string }> {
  const { db, dbNow, now } = deps;
  const eventId = newId();
  await db.$transaction(async (tx) => {
    await requireEnabled(tx, endpointId);
    const at = await readDatabaseTime({ db: tx, dbNow });
    const deliveries = { create: { endpointId, nextAttemptAt: at } };
    const data = { id: eventId, type: "webhook.test", data: { endpointId }, occurredAt: at, deliveries };
    await tx.webhookEvent.create({ data });
    const audited = { type: "webhook_tested", target: `webhook:${endpointId}`, details: { eventId } } as const;
    await recordOperatorEvent(tx, now(), operator, audited);
  });
  deps.webhooks.wake();
  return { eventId };
}

type Position = { at: Date; id: string };
type Batch = { all: boolean; after: Position };

/** Queues the next events by their time. Pending deliveries keep their schedule. */
function queueBatch(
  { db, dbNow }: { db: Tx } & Pick<Deps, "dbNow">,
  endpointId: string,
  { eventTypes, all, after }: Batch & { eventTypes: readonly string[] },
) {
  const replayed = all ? sql`delivery."state" <> 'pending'` : sql`delivery."state" = 'failed'`;
  return db.$queryRaw<(Position & { isQueued: boolean })[]>`
    WITH event AS MATERIALIZED (
      SELECT "id", "occurredAt", "type" FROM "WebhookEvent"
      WHERE ("occurredAt", "id") > (${after.at}::timestamptz, ${after.id}::uuid)
      ORDER BY "occurredAt", "id" LIMIT ${BATCH_SIZE}::integer
    ), queued AS (
      INSERT INTO "WebhookDelivery" AS delivery ("eventId", "endpointId", "nextAttemptAt")
      SELECT "id", ${endpointId}::uuid, ${dbNow()} FROM event WHERE "type" = ANY(${eventTypes}::text[])
      ON CONFLICT ("eventId", "endpointId") DO UPDATE
        SET "state" = 'pending', "attempts" = 0, "nextAttemptAt" = EXCLUDED."nextAttemptAt"
        WHERE ${replayed}
      RETURNING "eventId"
    )
    SELECT event."id"::text, event."occurredAt" AS "at", event."id" IN (SELECT "eventId" FROM queued) AS "isQueued"
    FROM event ORDER BY event."occurredAt", event."id"`;
}

/** Locks an endpoint, which is not deleted then until the transaction ends. @throws AppError not_found, webhook_disabled */
async function requireEnabled(tx: Tx, id: string) {
  await tx.$queryRaw`SELECT FROM "WebhookEndpoint" WHERE "id" = ${id}::uuid FOR KEY SHARE`;
  const endpoint = await tx.webhookEndpoint.findUnique({ where: { id } });
  if (!endpoint) throw new AppError("not_found");
  if (endpoint.disabledAt !== null) throw new AppError("webhook_disabled");
  return endpoint;
}
