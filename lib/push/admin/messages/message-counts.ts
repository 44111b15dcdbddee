import type { Context } from "../../../context";
import { uuidArray } from "../../../platform/db/sql";
import type { PushMessageDetails } from "../schema";
import type { MessageRow } from "./message-row";

export type DeliveryCounts = PushMessageDetails["outcomes"];
type Row = DeliveryCounts[number] & { messageId: string };

/**
 * Counts the deliveries of messages by state and reason. Those of an announcement were counted when they ended; a message
 * to an account has few, which are counted now.
 */
export async function countDeliveries(
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
