import type { Tx } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { sql } from "../../platform/db/sql";
import { QUEUE_PRIORITIES, QueuePriority } from "../notifications";
import type { composeNotification } from "../payload";

/** A row of `PushMessage`, unless a message with its event key exists. */
export type NewPushMessage = ReturnType<typeof composeNotification> & {
  id: string;
  eventKey: string;
  accountId: string | null;
  deviceId: string | null;
};

/** A row of `QueuedPush`, unless the device was notified of the event. Times are by the database's clock. */
export type NewDelivery = Queueable & { message: NewPushMessage };

/** A row of `QueuedPush` for a message that is stored. */
export type Queueable = {
  message: Pick<NewPushMessage, "eventKey" | "queuePriority">;
  deviceId: string;
  id: string;
  dueAt: Date;
  expiresAt: Date;
};

/**
 * Inserts deliveries and their messages, and returns the number of deliveries inserted. One statement, and a second one
 * if some of the events are known. By then their messages are locked, so the second statement sees every delivery that
 * another transaction has inserted for them.
 */
export async function insertDeliveries(tx: Tx, deliveries: readonly NewDelivery[]): Promise<number> {
  if (deliveries.length === 0) return 0;
  const messages = uniqueMessages(deliveries);
  const idOf = new Map(messages.map(({ id, eventKey }) => [eventKey, id]));
  const [result] = await tx.$queryRaw<{ added: number; known: { id: string; eventKey: string }[] }[]>`
    WITH message AS (${upsertMessages(messages)}),
    added AS (
      ${insertQueued(deliveries, idOf)} JOIN message ON message."id" = delivery."messageId"
      ON CONFLICT DO NOTHING RETURNING 1
    )
    SELECT (SELECT count(*)::int FROM added) AS "added", coalesce((
      SELECT jsonb_agg(message) FROM message WHERE "id" <> ALL(${[...idOf.values()]}::uuid[])
    ), '[]') AS "known"`;
  if (!result || result.known.length === 0) return result?.added ?? 0;
  const knownIdOf = new Map(result.known.map(({ id, eventKey }) => [eventKey, id]));
  const repeated = deliveries.filter(({ message }) => knownIdOf.has(message.eventKey));
  return result.added + (await insertRepeated(tx, repeated, knownIdOf));
}

/**
 * Inserts deliveries of messages that are stored, unless the device was notified of the event. Returns how many. The
 * transaction has locked the messages.
 */
export function insertRepeated(
  tx: Tx,
  deliveries: readonly Queueable[],
  messageIdOf: ReadonlyMap<string, string>,
): Promise<number> {
  return tx.$executeRaw`
    ${insertQueued(deliveries, messageIdOf)} JOIN "PushMessage" AS message ON message."id" = delivery."messageId"
    WHERE NOT EXISTS (
      SELECT 1 FROM "PushReceipt" AS receipt
      WHERE receipt."messageId" = delivery."messageId" AND receipt."deviceId" = delivery."deviceId"
    )
    ON CONFLICT DO NOTHING`;
}

/** The messages of the deliveries, the first of each event, with the time at which the last delivery expires. */
function uniqueMessages(deliveries: readonly NewDelivery[]) {
  const messages = new Map<string, NewPushMessage & { expiresAt: Date }>();
  for (const { message, expiresAt } of deliveries) {
    const known = messages.get(message.eventKey);
    if (!known) messages.set(message.eventKey, { ...message, expiresAt });
    else if (known.expiresAt < expiresAt) known.expiresAt = expiresAt;
  }
  return [...messages.values()];
}

/** Locks the messages that exist, in the same order in all transactions, so that they do not deadlock. */
function upsertMessages(messages: ReturnType<typeof uniqueMessages>): Prisma.Sql {
  return sql`
    INSERT INTO "PushMessage" AS known ("id", "eventKey", "accountId", "deviceId", "kind", "payload", "priority",
      "collapseId", "expiresAt")
    SELECT * FROM jsonb_to_recordset(${JSON.stringify(messages)}::jsonb) AS message("id" uuid, "eventKey" text,
      "accountId" uuid, "deviceId" uuid, "kind" text, "payload" jsonb, "priority" smallint, "collapseId" text,
      "expiresAt" timestamptz)
    ORDER BY "eventKey"
    ON CONFLICT ("eventKey") DO UPDATE SET "expiresAt" = greatest(known."expiresAt", EXCLUDED."expiresAt")
    RETURNING "id", "eventKey"`;
}

/** The beginning of an INSERT of deliveries: a JOIN of `delivery` with their messages and a WHERE have to follow. */
function insertQueued(deliveries: readonly Queueable[], messageIdOf: ReadonlyMap<string, string>): Prisma.Sql {
  return sql`
    INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority")
    SELECT delivery."deviceId", delivery."messageId", delivery."id", delivery."dueAt", delivery."expiresAt",
      delivery."queuePriority"
    FROM unnest(
      ${deliveries.map(({ deviceId }) => deviceId)}::uuid[],
      ${deliveries.map(({ message }) => messageIdOf.get(message.eventKey))}::uuid[],
      ${deliveries.map(({ id }) => id)}::uuid[],
      ${deliveries.map(({ dueAt }) => dueAt.toISOString())}::timestamptz[],
      ${deliveries.map(({ expiresAt }) => expiresAt.toISOString())}::timestamptz[],
      ${deliveries.map(({ message }) => message.queuePriority)}::smallint[],
      ${deliveries.map(({ message }) => message.eventKey)}::text[]
    ) AS delivery("deviceId", "messageId", "id", "dueAt", "expiresAt", "queuePriority", "eventKey")`;
}

/** Returns the queue priority of a kind, as SQL. */
export function queuePriorityOf(kind: Prisma.Sql): Prisma.Sql {
  return sql`coalesce((${JSON.stringify(QUEUE_PRIORITIES)}::jsonb ->> ${kind})::smallint, ${QueuePriority.normal}::smallint)`;
}
