import type { Prisma } from "../../platform/db/generated/client";
import { NIL_ID, newId } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import { QueuePriority } from "../notifications";

/** The message id under which deliveries that belong to no announcement are counted. */
export const OTHER_MESSAGES = NIL_ID;
/** How many queued deliveries `hasQueuedDeliveries` reads, which takes milliseconds. */
const MAX_EXAMINED = 10_000;

/**
 * Returns the CTE "counted", which adds the rows of the CTE "ended" to the counts of their hour. `writer` is the process
 * for a statement that commits at once. A statement in a longer transaction gets a writer of its own by default, so that
 * no worker waits for the transaction. `count` is -1 for deliveries that are queued again.
 */
export function countOutcomes(
  hour: Prisma.Sql,
  { writer = newId(), count = 1 }: { writer?: string; count?: 1 | -1 } = {},
): Prisma.Sql {
  return sql`"counted" AS (
      INSERT INTO "PushOutcomeCount" AS known ("messageId", "hour", "state", "reason", "writer", "count")
      SELECT CASE WHEN "queuePriority" = ${QueuePriority.announcement} THEN "messageId" ELSE ${OTHER_MESSAGES}::uuid END,
        date_trunc('hour', ${hour}, 'UTC'), "state"::"PushDeliveryState",
        coalesce("reason", nullif("apnsStatus", 200)::text, ''), ${writer}::uuid, ${count}::int * count(*)
      FROM "ended" GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      ON CONFLICT ("messageId", "hour", "state", "reason", "writer") DO UPDATE SET "count" = known."count" + EXCLUDED."count"
    )`;
}

/**
 * SQL: whether the queue has deliveries of a row `broadcast`. The counts alone cannot tell, because a deleted device
 * takes along its queued delivery. The queue has no index by message: if it is long, this assumes that it has some.
 */
export const hasQueuedDeliveries = sql`CASE WHEN broadcast."queued" > coalesce((
    SELECT sum("count") FROM "PushOutcomeCount" WHERE "messageId" = broadcast."messageId"
  ), 0) THEN (
    SELECT count(*) = ${MAX_EXAMINED}::int OR count(*) FILTER (WHERE "messageId" = broadcast."messageId") > 0 FROM (
      SELECT "messageId" FROM "QueuedPush" WHERE "leaseUntil" > '-infinity'
      UNION ALL SELECT "messageId" FROM "QueuedPush"
      WHERE "leaseUntil" IS NULL AND "queuePriority" = ${QueuePriority.announcement} AND "nextAttemptAt" > '-infinity'
      LIMIT ${MAX_EXAMINED}::int
    ) AS examined
  ) ELSE false END`;
