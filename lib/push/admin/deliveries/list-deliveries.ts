import type { Context } from "../../../context";
import type { Prisma } from "../../../platform/db/generated/client";
import { idOr, MAX_ID, NIL_ID, timeOfId } from "../../../platform/db/ids";
import { sql } from "../../../platform/db/sql";
import { findAccountId } from "../../../platform/find-account";
import { readPage } from "../../../platform/lists";
import type { Deliveries, DeliveriesQuery, Delivery } from "../schema";
import { type DeliveryRow, selectEnded, selectQueued, withMessages } from "./columns";
import { endedWhere, isInQueue, isInReceipts, queuedWhere } from "./conditions";
import { readByTime } from "./read-by-time";

type Deps = Pick<Context, "db">;
type Filter = Omit<DeliveriesQuery, "account" | "limit" | "cursor">;
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
  return { deliveries: entries.map(({ row }) => describe(row)), nextCursor };
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

function describe({ queuePriority: _, leaseUntil: __, ...row }: DeliveryRow): Delivery {
  return { ...row, createdAt: timeOfId(row.id) };
}
