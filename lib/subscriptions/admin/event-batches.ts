import { z } from "zod";
import type { Tx } from "../../context";
import type { BillingEventState } from "../../platform/db/generated/client";
import { NIL_ID } from "../../platform/db/ids";
import { Time } from "../../platform/storable";

/**
 * The position of a batch change: after the event `id`, received at `receivedAt`. The change began with the event received
 * at `from`, and ends with those received by `until`.
 */
const Position = z.object({ from: Time, until: Time, receivedAt: Time, id: z.uuid() });
export type Position = z.infer<typeof Position>;

/** A position as clients receive it. */
export const BatchCursor = z
  .string()
  .max(512)
  .transform((text, check): unknown => {
    try {
      return JSON.parse(Buffer.from(text, "base64url").toString());
    } catch {
      check.addIssue({ code: "custom", message: "Must be a `nextCursor` of this list" });
      return z.NEVER;
    }
  });
export const EventCursor = BatchCursor.pipe(Position);

/** Writes a position for a client. */
export function toCursor(position: object): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

/** The share of the work that is done, from 0 to 1: by time, because counting the events would read all of them. */
export function progressOf({ from, until, receivedAt }: Position): number {
  const whole = until.getTime() - from.getTime();
  return whole <= 0 ? 1 : Math.min(Math.max((receivedAt.getTime() - from.getTime()) / whole, 0), 1);
}

/** The next events, in their order. `isEnd`: none follow. */
type Batch = { events: Position[]; isEnd: boolean };

/**
 * Reads the next events that were received by `until`, oldest first; of all states without `states`. One statement, which
 * reads only its own rows by the index on state and time.
 */
export async function readBatch(
  db: Tx,
  start: Position | { until: Date },
  { states, take }: { states: readonly BillingEventState[] | null; take: number },
): Promise<Batch> {
  const { until } = start;
  const last = "id" in start ? start : { receivedAt: new Date(0), id: NIL_ID };
  const rows = await db.$queryRaw<{ id: string; receivedAt: Date }[]>`
    SELECT event.id::text, event."receivedAt"
    FROM unnest(coalesce(${states}::"BillingEventState"[], enum_range(NULL::"BillingEventState"))) AS selected (state)
    CROSS JOIN LATERAL (
      SELECT id, "receivedAt" FROM "BillingEvent"
      WHERE state = selected.state AND "receivedAt" <= ${until}::timestamptz
        AND ("receivedAt", id) > (${last.receivedAt}::timestamptz, ${last.id}::uuid)
      ORDER BY "receivedAt", id LIMIT ${take}::integer
    ) AS event
    ORDER BY event."receivedAt", event.id LIMIT ${take}::integer`;
  const from = "from" in start ? start.from : (rows[0]?.receivedAt ?? until);
  return { events: rows.map((row) => ({ from, until, ...row })), isEnd: rows.length < take };
}
