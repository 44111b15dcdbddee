import type { Context } from "../context";
import { AppError } from "../errors";
import type { Prisma } from "../platform/db/generated/client";
import { isUuid } from "../platform/db/ids";
import { empty, sql } from "../platform/db/sql";
import { countRows, readPage } from "../platform/lists";
import { findEndpoint } from "./endpoints";
import type { Deliveries, DeliveriesQuery, Delivery, DeliveryDetails } from "./schema";

type Deps = Pick<Context, "db">;
type Row = Delivery & { data: Record<string, unknown>; responseBody: string | null };

/** A page of an endpoint's deliveries, newest event first. @throws AppError not_found, invalid_query */
export async function listDeliveries(
  { db }: Deps,
  endpointId: string,
  { state, ...page }: DeliveriesQuery,
): Promise<Deliveries> {
  await findEndpoint({ db }, endpointId);
  const { entries, nextCursor } = await readPage(`deliveries ${endpointId}`, page, async ({ after, take }) => {
    const isAfter = after !== null && isUuid(after) ? sql`AND delivery."eventId" < ${after}::uuid` : empty;
    const rows = await readRows({ db }, endpointId, sql`${stateIs(state)} ${isAfter}`, take);
    return rows.map((row) => ({ ...row, id: row.eventId }));
  });
  return { deliveries: [...entries], nextCursor };
}

/** A delivery with its payload and the start of the last response. @throws AppError not_found */
export async function findDelivery({ db }: Deps, endpointId: string, eventId: string): Promise<DeliveryDetails> {
  const [row] = await readRows({ db }, endpointId, sql`AND delivery."eventId" = ${eventId}::uuid`, 1);
  if (!row) throw new AppError("not_found");
  const { data, type, occurredAt } = row;
  return { ...row, payload: { type, timestamp: occurredAt, data } };
}

/** The constant lets PostgreSQL use the partial index of deliveries that are not delivered. */
function stateIs(state: DeliveriesQuery["state"]): Prisma.Sql {
  if (state === undefined) return empty;
  const isUndelivered = state === "delivered" ? empty : sql`AND delivery."state" <> 'delivered'`;
  return sql`AND delivery."state" = ${state} ${isUndelivered}`;
}

function readRows({ db }: Deps, endpointId: string, condition: Prisma.Sql, take: number): Promise<Row[]> {
  return db.$queryRaw<Row[]>`
    SELECT delivery."eventId"::text, delivery."state", delivery."attempts", delivery."nextAttemptAt",
      delivery."lastAttemptAt", delivery."durationMs", delivery."responseStatus", delivery."responseBody",
      delivery."error", event."type", event."data", event."occurredAt"
    FROM "WebhookDelivery" AS delivery JOIN "WebhookEvent" AS event ON event."id" = delivery."eventId"
    WHERE delivery."endpointId" = ${endpointId}::uuid ${condition}
    ORDER BY delivery."eventId" DESC LIMIT ${take}::integer`;
}

/** An endpoint's deliveries by state, each counted up to `MAX_COUNTED`. */
export type DeliveryCounts = { pending: number; failed: number; delivered: number };

/**
 * Counts an endpoint's deliveries. Bounded, by indexes: only deliveries that are pending have a next attempt, and the index of
 * those that failed has the condition `<> 'delivered'`.
 */
export async function countDeliveries({ db }: Deps, endpointId: string): Promise<DeliveryCounts> {
  const count = (condition: Prisma.Sql) =>
    countRows(db, sql`SELECT 1 FROM "WebhookDelivery" WHERE "endpointId" = ${endpointId}::uuid AND ${condition}`);
  return {
    pending: await count(sql`"nextAttemptAt" IS NOT NULL`),
    failed: await count(sql`"state" <> 'delivered' AND "state" = 'failed'`),
    delivered: await count(sql`"state" = 'delivered'`),
  };
}
