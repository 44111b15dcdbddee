import { z } from "zod";
import type { Context } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { idOr, MAX_ID, NIL_ID, timeOfId } from "../../platform/db/ids";
import { literals, sql } from "../../platform/db/sql";
import { findAccountId } from "../../platform/find-account";
import { readPage } from "../../platform/lists";
import { Time } from "../../platform/storable";
import { OPERATOR_KINDS } from "../notifications";
import type { Deliveries, DeliveriesQuery, Delivery } from "./schema";

type Deps = Pick<Context, "db">;
type Filter = Omit<DeliveriesQuery, "account" | "limit" | "cursor">;
type StateFilter = Pick<DeliveriesQuery, "state" | "reason" | "endedFrom">;
type Page = { after: string | null; take: number };

/**
 * A page of the deliveries, without their contents. Those of an account, or of a message to an account: newest first. Those
 * of an announcement: by device. All: first those being sent and those that wait, in their order, then those that have
 * ended, newest first.
 * @throws AppError invalid_query; not_found for an unknown account
 */
export async function listDeliveries(
  deps: Deps,
  { account, limit, cursor, ...filter }: DeliveriesQuery,
): Promise<Deliveries> {
  const devices = await findDevices(deps, account, filter.messageId);
  const { messageId, state, reason, endedFrom } = filter;
  const list = ["push-deliveries", account, messageId, state, reason, endedFrom?.getTime()].join("/");
  const { entries, nextCursor } = await readPage(list, { limit, cursor }, (page) => {
    if (devices !== null) return readOfDevices(deps, devices, filter, page);
    return filter.messageId === undefined ? readByTime(deps, filter, page) : readOfBroadcast(deps, filter, page);
  });
  return { deliveries: entries.map(({ row }) => ({ ...row, createdAt: timeOfId(row.id) })), nextCursor };
}

/** The devices that can have received the listed deliveries, as SQL; null for all devices. */
async function findDevices(
  deps: Deps,
  account: string | undefined,
  messageId: string | undefined,
): Promise<Prisma.Sql | null> {
  const ofAccount = (id: string) => sql`SELECT "id" FROM "PushDevice" WHERE "accountId" = ${id}::uuid`;
  if (account !== undefined) return ofAccount(await findAccountId(deps, account));
  if (messageId === undefined) return null;
  const message = await deps.db.pushMessage.findUnique({ where: { id: messageId } });
  if (message?.accountId) return ofAccount(message.accountId);
  return message?.deviceId ? sql`SELECT ${message.deviceId}::uuid AS "id"` : null;
}

type Entry = { id: string; row: DeliveryRow };

/** Receipts have no index by device: they are looked up for each message that the devices can have received. */
async function readOfDevices(
  { db }: Deps,
  devices: Prisma.Sql,
  { messageId, ...filter }: Filter,
  { after, take }: Page,
): Promise<Entry[]> {
  const isAfter = sql`delivery."id" < ${idOr(MAX_ID, after)}::uuid`;
  const ofMessage = (id: Prisma.Sql) => (messageId === undefined ? sql`true` : sql`${id} = ${messageId}::uuid`);
  const queued = selectQueued(sql`
    WHERE ${isInQueue(filter)} AND delivery."deviceId" = ANY(ARRAY(${devices})) AND ${ofMessage(sql`delivery."messageId"`)}
      AND ${queuedWhere(filter)} AND ${isAfter}`);
  const ended = selectEnded(sql`
    WHERE ${isInReceipts(filter)} AND ${endedWhere(filter)} AND ${isAfter}
      AND (delivery."messageId", delivery."deviceId") IN (
        WITH owned AS MATERIALIZED (${devices}),
        message AS (
          SELECT message."id", device."id" AS "deviceId" FROM owned JOIN "PushDevice" AS device USING ("id")
          JOIN "PushMessage" AS message ON message."accountId" = device."accountId"
          UNION ALL
          SELECT message."id", owned."id" FROM owned JOIN "PushMessage" AS message ON message."deviceId" = owned."id"
          UNION ALL
          SELECT message."id", owned."id" FROM owned CROSS JOIN "PushMessage" AS message
          WHERE message."accountId" IS NULL AND message."deviceId" IS NULL AND message."id" > ${NIL_ID}::uuid
        )
        SELECT message."id", message."deviceId" FROM message WHERE ${ofMessage(sql`message."id"`)}
      )`);
  const rows = await db.$queryRaw<DeliveryRow[]>(
    withMessages(
      sql`SELECT * FROM (${queued} UNION ALL ${ended}) AS found ORDER BY "id" DESC LIMIT ${take}`,
      sql`delivery."id" DESC`,
    ),
  );
  return rows.map((row) => ({ id: row.id, row }));
}

/** By device: the primary key of receipts returns a message's in this order. */
async function readOfBroadcast(
  { db }: Deps,
  { messageId, ...filter }: Filter,
  { after, take }: Page,
): Promise<Entry[]> {
  const isAfter = sql`delivery."deviceId" > ${idOr(NIL_ID, after)}::uuid`;
  const page = (where: Prisma.Sql) => sql`
    WHERE delivery."messageId" = ${messageId}::uuid AND ${isAfter} AND ${where}
    ORDER BY delivery."deviceId" LIMIT ${take}`;
  const queued = selectQueued(page(sql`${isInQueue(filter)} AND ${queuedWhere(filter)}`));
  const ended = selectEnded(page(sql`${isInReceipts(filter)} AND ${endedWhere(filter)}`));
  const rows = await db.$queryRaw<DeliveryRow[]>(
    withMessages(
      sql`SELECT * FROM ((${queued}) UNION ALL (${ended})) AS found ORDER BY "deviceId" LIMIT ${take}`,
      sql`delivery."deviceId"`,
    ),
  );
  return rows.map((row) => ({ id: row.deviceId, row }));
}

/** A position in the list, as a cursor has it. */
const Position = z.tuple([z.enum(["sending", "queued", "ended"]), z.int().min(0).max(9), Time, z.uuid()]);
type Position = z.infer<typeof Position>;
type Part = Position[0];
const Cursor = z
  .string()
  .transform((text) => text.split(" "))
  .transform(([part, priority, at, id]) => [part, Number(priority), at, id])
  .pipe(Position);

/**
 * Reads a page of all deliveries: those being sent, those that wait, in the order in which workers claim them, then those
 * that have ended, newest first. Each part is read by an index in its order.
 */
async function readByTime({ db }: Deps, filter: StateFilter, { after, take }: Page): Promise<Entry[]> {
  const position = after === null ? null : (Cursor.safeParse(after).data ?? null);
  const parts = partsOf(filter);
  const entries: Entry[] = [];
  for (const part of position === null ? parts : parts.slice(parts.indexOf(position[0]))) {
    const from = position?.[0] === part ? position : null;
    const rows = await db.$queryRaw<DeliveryRow[]>(selectPart(part, filter, from, take - entries.length));
    entries.push(...rows.map((row) => ({ id: cursorOf(part, row), row })));
    if (entries.length >= take) break;
  }
  return entries;
}

/** A reason without a state is one of a delivery that has ended: the queue has no index by reason. */
function partsOf(filter: StateFilter): Part[] {
  const { state, reason } = filter;
  if (state === "queued" || state === "sending") return isInQueue(filter) ? [state] : [];
  return isInQueue(filter) && reason === undefined ? ["sending", "queued", "ended"] : ["ended"];
}

function selectPart(part: Part, filter: StateFilter, position: Position | null, take: number): Prisma.Sql {
  // A part begins before every row rather than without a condition, so that an index serves the first page too.
  const start = part === "ended" ? (["infinity", MAX_ID] as const) : (["-infinity", NIL_ID] as const);
  const [, priority, at, id] = position ?? [part, 0, ...start];
  if (part === "ended") {
    const isAfter = sql`(delivery."endedAt", delivery."id") < (${at}::timestamptz, ${id}::uuid)`;
    const order = sql`delivery."endedAt" DESC, delivery."id" DESC`;
    const where = sql`${endedWhere(filter)} AND ${isAfter}`;
    return withMessages(selectEnded(sql`WHERE ${where} ORDER BY ${order} LIMIT ${take}`), order);
  }
  const isSending = part === "sending";
  const order = isSending
    ? sql`delivery."leaseUntil", delivery."id"`
    : sql`delivery."queuePriority", delivery."nextAttemptAt", delivery."id"`;
  const isAfter = isSending
    ? sql`delivery."leaseUntil" IS NOT NULL AND (${order}) > (${at}::timestamptz, ${id}::uuid)`
    : sql`delivery."leaseUntil" IS NULL AND (${order}) > (${priority}::smallint, ${at}::timestamptz, ${id}::uuid)`;
  const where = sql`${queuedWhere(filter)} AND ${isAfter}`;
  return withMessages(selectQueued(sql`WHERE ${where} ORDER BY ${order} LIMIT ${take}`), order);
}

function cursorOf(part: Part, { id, queuePriority, leaseUntil, nextAttemptAt, endedAt }: DeliveryRow): string {
  const at = { sending: leaseUntil, queued: nextAttemptAt, ended: endedAt }[part];
  return [part, queuePriority, at?.toISOString(), id].join(" ");
}

const isQueueState = (state: DeliveriesQuery["state"]) => state === "queued" || state === "sending";

const isInQueue = ({ state, endedFrom }: StateFilter) =>
  endedFrom === undefined && (state === undefined || isQueueState(state));
const isInReceipts = ({ state }: StateFilter) => !isQueueState(state);

/** The condition of a filter on deliveries in the queue. */
function queuedWhere({ state, reason }: StateFilter): Prisma.Sql {
  const inState = state === undefined ? sql`true` : sql`(delivery."leaseUntil" IS NULL) = ${state === "queued"}`;
  return reason === undefined ? inState : sql`${inState} AND delivery."reason" = ${reason}`;
}

/** The condition on receipts. The state is a literal, and a reason excludes "sent": partial indexes apply to those alone. */
function endedWhere({ state, reason, endedFrom }: StateFilter): Prisma.Sql {
  const ofState = state === undefined ? sql`true` : sql`delivery."state" = ${literals([state])}`;
  const inState =
    endedFrom === undefined ? ofState : sql`${ofState} AND delivery."endedAt" >= ${endedFrom}::timestamptz`;
  return reason === undefined
    ? inState
    : sql`${inState} AND delivery."state" <> 'sent' AND delivery."reason" = ${reason}`;
}

/** A delivery, with the columns that its position in a list depends on. */
type DeliveryRow = Omit<Delivery, "createdAt"> & { queuePriority: number; leaseUntil: Date | null };

/** Selects deliveries in the queue. `rest` is what follows FROM "QueuedPush" AS delivery. */
function selectQueued(rest: Prisma.Sql): Prisma.Sql {
  return sql`
    SELECT delivery."id", delivery."messageId", delivery."deviceId",
      CASE WHEN delivery."leaseUntil" IS NULL THEN 'queued' ELSE 'sending' END AS "state", delivery."attempts",
      delivery."apnsStatus", delivery."reason", delivery."expiresAt", delivery."nextAttemptAt",
      NULL::timestamptz AS "endedAt", delivery."queuePriority", delivery."leaseUntil"
    FROM "QueuedPush" AS delivery ${rest}`;
}

/** Selects deliveries that have ended. `rest` is what follows FROM "PushReceipt" AS delivery. */
function selectEnded(rest: Prisma.Sql): Prisma.Sql {
  return sql`
    SELECT delivery."id", delivery."messageId", delivery."deviceId", delivery."state"::text, delivery."attempts",
      delivery."apnsStatus", delivery."reason", delivery."expiresAt", NULL::timestamptz AS "nextAttemptAt",
      delivery."endedAt", 0::smallint AS "queuePriority", NULL::timestamptz AS "leaseUntil"
    FROM "PushReceipt" AS delivery ${rest}`;
}

/** As `textOf` has it for a message. */
const TITLE = sql`CASE WHEN message."kind" IN (${literals(OPERATOR_KINDS)})
  THEN coalesce(message."payload" #>> '{aps,alert,title}', message."payload" #>> '{data,version}') END`;

/** Adds the messages of selected deliveries. `order` names columns of `delivery`. */
function withMessages(deliveries: Prisma.Sql, order: Prisma.Sql): Prisma.Sql {
  return sql`
    SELECT delivery.*, message."eventKey", message."kind", ${TITLE} AS "title" FROM (${deliveries}) AS delivery
    LEFT JOIN "PushMessage" AS message ON message."id" = delivery."messageId" ORDER BY ${order}`;
}
