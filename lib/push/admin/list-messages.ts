import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { PushMessage as Message, Prisma, PushBroadcast } from "../../platform/db/generated/client";
import { idOr, MAX_ID, timeOfId } from "../../platform/db/ids";
import { literals, sql, uuidArray } from "../../platform/db/sql";
import { findAccountId } from "../../platform/find-account";
import { readPage } from "../../platform/lists";
import type { Audience } from "../audience";
import { OPERATOR_KINDS, SECRET_KINDS } from "../notifications";
import { hasQueuedDeliveries } from "../outbox/receipts";
import type { MessagesQuery, PushMessage, PushMessageDetails, PushMessages } from "./schema";

type Deps = Pick<Context, "db" | "dbNow">;

/** A page of the messages, newest first. @throws AppError invalid_query; not_found for an unknown account */
export async function listMessages(deps: Deps, { account, by, ...page }: MessagesQuery): Promise<PushMessages> {
  const accountId = account === undefined ? null : await findAccountId(deps, account);
  const { entries, nextCursor } = await readPage("push-messages", page, ({ after, take }) => {
    const isAfter = sql`"id" < ${idOr(MAX_ID, after)}::uuid`;
    const isBy = by === "operator" ? sql`"kind" IN (${literals(OPERATOR_KINDS)})` : sql`true`;
    return deps.db.$queryRaw<MessageRow[]>(selectMessages(deps, accountId, sql`${isAfter} AND ${isBy}`, take));
  });
  const counts = await countDeliveries(deps, entries);
  return { messages: entries.map((row) => describe(row, counts.get(row.id) ?? [])), nextCursor };
}

/** A message with the outcomes of its deliveries. @throws AppError not_found */
export async function showMessage(deps: Deps, id: string): Promise<PushMessageDetails> {
  const [row] = await deps.db.$queryRaw<MessageRow[]>(selectMessages(deps, null, sql`"id" = ${id}::uuid`, 1));
  if (!row) throw new AppError("not_found");
  const outcomes = (await countDeliveries(deps, [row])).get(id) ?? [];
  const { perSecond, nextDueAt, estimatedDevices, queued, endedAt } = row;
  const isQueueing = nextDueAt !== null && endedAt === null && row.canceledAt === null;
  const leftSeconds = Math.max((estimatedDevices ?? 0) - (queued ?? 0), 0) / (perSecond ?? 1);
  return {
    ...describe(row, outcomes),
    ...textOf(row),
    perSecond,
    queueingEndsAt: isQueueing ? new Date(nextDueAt.getTime() + 1000 * leftSeconds) : null,
    outcomes,
  };
}

/** An account's messages are few, and sorted. Of all messages, the primary key returns the newest. */
function selectMessages({ dbNow }: Deps, accountId: string | null, condition: Prisma.Sql, take: number): Prisma.Sql {
  const ofDevices = sql`"deviceId" IN (SELECT "id" FROM "PushDevice" WHERE "accountId" = ${accountId}::uuid)`;
  const rows =
    accountId === null
      ? sql`SELECT * FROM "PushMessage" WHERE ${condition} ORDER BY "id" DESC LIMIT ${take}`
      : sql`SELECT * FROM "PushMessage" WHERE "accountId" = ${accountId}::uuid AND ${condition}
          UNION ALL SELECT * FROM "PushMessage" WHERE ${ofDevices} AND ${condition}`;
  return sql`
    WITH message AS MATERIALIZED (${rows})
    SELECT message."id"::text, message."kind", message."accountId"::text, message."deviceId"::text,
      message."payload", message."expiresAt", message."canceledAt",
      CASE WHEN message."expiresAt" > ${dbNow()} THEN ${hasQueuedDeliveries} ELSE false END AS "isWaiting",
      broadcast."queued", broadcast."estimatedDevices",
      broadcast."perSecond", broadcast."bundleId", broadcast."audience", broadcast."startsAt",
      broadcast."startsAt" > ${dbNow()} AS "isScheduled", broadcast."nextDueAt", broadcast."endedAt"
    FROM message LEFT JOIN "PushBroadcast" AS broadcast ON broadcast."messageId" = message."id"
    ORDER BY message."id" DESC LIMIT ${take}`;
}

function describe(row: MessageRow, outcomes: DeliveryCounts): PushMessage {
  const { id, kind, accountId, deviceId, bundleId, audience, expiresAt, canceledAt, estimatedDevices } = row;
  const total = (...states: string[]) =>
    outcomes.reduce((sum, { state, count }) => sum + (states.includes(state) ? count : 0), 0);
  const [waiting, sent, failed] = [total("queued", "sending"), total("sent"), total("failed")];
  const cancelled = total("cancelled");
  const isQueueing = row.nextDueAt !== null && row.endedAt === null;
  const queueing = row.isScheduled ? "scheduled" : "queueing";
  const status = canceledAt ? "canceled" : isQueueing ? queueing : waiting > 0 ? "sending" : "ended";
  const to = { accountId, deviceId, bundleId, audience };
  const known = waiting + sent + failed + cancelled;
  const isDirect = accountId !== null || deviceId !== null;
  const devices = isDirect && !isQueueing ? known : (estimatedDevices ?? known);
  const { title } = textOf(row);
  const times = { createdAt: timeOfId(id), sendAt: row.startsAt, expiresAt, canceledAt };
  return { id, kind, status, to, title, ...times, devices, waiting, sent, failed, cancelled };
}

/** The text of a message that an operator sent. The text of other kinds can be secret, or about the account's owner. */
function textOf({ kind, payload }: MessageRow) {
  const { alert } = payload.aps ?? {};
  const isShown = (OPERATOR_KINDS as readonly string[]).includes(kind) && !SECRET_KINDS.includes(kind);
  if (!isShown) return { title: null, body: null, link: null };
  return {
    title: alert?.title ?? payload.data?.version ?? null,
    body: alert?.body ?? null,
    link: payload.data?.link ?? null,
  };
}

type DeliveryCounts = PushMessageDetails["outcomes"];
type Row = DeliveryCounts[number] & { messageId: string };

/**
 * Counts the deliveries of messages by state and reason. Those of an announcement were counted when they ended; a message
 * to an account has few, which are counted now.
 */
async function countDeliveries(
  { db }: Pick<Context, "db">,
  messages: readonly MessageRow[],
): Promise<Map<string, DeliveryCounts>> {
  const broadcasts = messages.filter(({ accountId, deviceId }) => accountId === null && deviceId === null);
  const direct = uuidArray(messages.filter((message) => !broadcasts.includes(message)).map(({ id }) => id));
  const rows = await db.$queryRaw<Row[]>`
    SELECT "messageId"::text, "state"::text, nullif("reason", '') AS "reason", sum("count")::int AS "count"
    FROM "PushOutcomeCount" WHERE "messageId" = ANY(${uuidArray(broadcasts.map(({ id }) => id))})
    GROUP BY 1, 2, 3 HAVING sum("count") > 0
    UNION ALL
    SELECT "messageId"::text, "state"::text, coalesce("reason", nullif("apnsStatus", 200)::text), count(*)::int
    FROM "PushReceipt" WHERE "messageId" = ANY(${direct}) GROUP BY 1, 2, 3
    UNION ALL
    SELECT message."id"::text, CASE WHEN "leaseUntil" IS NULL THEN 'queued' ELSE 'sending' END, queued."reason",
      count(*)::int
    FROM "PushMessage" AS message
    JOIN "PushDevice" AS device ON device."accountId" = message."accountId" OR device."id" = message."deviceId"
    CROSS JOIN LATERAL (
      SELECT "leaseUntil", "reason" FROM "QueuedPush" WHERE "deviceId" = device."id" AND "messageId" = message."id" LIMIT 1
    ) AS queued
    WHERE message."id" = ANY(${direct}) GROUP BY 1, 2, 3
    ORDER BY 1, 4 DESC, 2, 3`;
  const counts = new Map<string, Row[]>();
  for (const row of rows) counts.set(row.messageId, [...(counts.get(row.messageId) ?? []), row]);
  for (const { id, queued, isWaiting } of broadcasts) {
    const known = counts.get(id) ?? [];
    // What was queued for a device that was deleted since is counted nowhere: while others wait, it counts as waiting.
    const waiting = isWaiting ? (queued ?? 0) - known.reduce((sum, { count }) => sum + count, 0) : 0;
    if (waiting > 0) counts.set(id, [{ messageId: id, state: "queued", reason: null, count: waiting }, ...known]);
  }
  return counts;
}

type MessageRow = Pick<Message, "id" | "kind" | "accountId" | "deviceId" | "expiresAt" | "canceledAt"> & {
  payload: { aps?: { alert?: Record<string, string> }; data?: Record<string, string> };
  /** Whether deliveries of a broadcast are in the queue. false once the last one has expired. */
  isWaiting: boolean;
} & { [Column in BroadcastColumn]: PushBroadcast[Column] | null } & {
  audience: Audience | null;
  isScheduled: boolean | null;
};
type BroadcastColumn = "queued" | "estimatedDevices" | "perSecond" | "bundleId" | "startsAt" | "nextDueAt" | "endedAt";
