import { z } from "zod";
import type { Context } from "../../../context";
import type { Prisma } from "../../../platform/db/generated/client";
import { MAX_ID, NIL_ID } from "../../../platform/db/ids";
import { sql } from "../../../platform/db/sql";
import { Time } from "../../../platform/storable";
import type { DeliveriesQuery } from "../schema";
import { type DeliveryRow, selectEnded, selectQueued, withMessages } from "./columns";
import { endedWhere, isInQueue, isInReceipts, queuedWhere } from "./conditions";

type Filter = Pick<DeliveriesQuery, "state" | "reason" | "endedFrom">;
type Entry = { id: string; row: DeliveryRow };
type Part = "sending" | "queued" | "ended";

/** A position in the list, as a cursor has it. */
const Position = z.tuple([z.enum(["sending", "queued", "ended"]), z.int().min(0).max(9), Time, z.uuid()]);
type Position = z.infer<typeof Position>;
const Cursor = z
  .string()
  .transform((text) => text.split(" "))
  .transform(([part, priority, at, id]) => [part, Number(priority), at, id])
  .pipe(Position);

/**
 * Reads a page of all deliveries: those being sent, those that wait, in the order in which workers claim them, then those
 * that have ended, newest first. Each part is read by an index in its order.
 */
export async function readByTime(
  { db }: Pick<Context, "db">,
  filter: Filter,
  { after, take }: { after: string | null; take: number },
): Promise<Entry[]> {
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
function partsOf(filter: Filter): Part[] {
  const { state, reason } = filter;
  if (state === "queued" || state === "sending") return isInQueue(filter) ? [state] : [];
  const isQueueRead = isInQueue(filter) && reason === undefined;
  return [
    ...(isQueueRead ? (["sending", "queued"] as const) : []),
    ...(isInReceipts(filter) ? (["ended"] as const) : []),
  ];
}

type Bound = { priority: number; at: Date | string; id: string };

/** Where a part begins. Before every row rather than without a condition, so that an index serves the first page too. */
const STARTS: Record<Part, Bound> = {
  sending: { priority: 0, at: "-infinity", id: NIL_ID },
  queued: { priority: 0, at: "-infinity", id: NIL_ID },
  ended: { priority: 0, at: "infinity", id: MAX_ID },
};

function selectPart(part: Part, filter: Filter, position: Position | null, take: number): Prisma.Sql {
  const { priority, at, id } = position ? { priority: position[1], at: position[2], id: position[3] } : STARTS[part];
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
