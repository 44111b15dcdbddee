import type { Registry } from "prom-client";
import type { Context } from "../../../context";
import { createDatabaseGauges, MAX_COUNTED_ROWS } from "./database-gauges";

type Deps = Pick<Context, "db" | "dbNow">;

/** The largest `QueuePriority` of lib/push/notifications.ts. */
const MAX_QUEUE_PRIORITY = 2;

const GAUGES = {
  homeport_push_outbox_depth: `Queued notifications of all instances, at most ${MAX_COUNTED_ROWS}.`,
  homeport_push_outbox_oldest_age_seconds: "Time since the oldest queued notification became due.",
};

/** Creates the gauges of the push outbox, and returns the function that updates them. */
export function createPushGauges(prom: typeof import("prom-client"), registry: Registry, { db, dbNow }: Deps) {
  return createDatabaseGauges(prom, registry, GAUGES, async () => {
    const [row] = await db.$queryRaw<Record<keyof typeof GAUGES, number>[]>`
      SELECT
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "QueuedPush" WHERE "leaseUntil" IS NULL LIMIT ${MAX_COUNTED_ROWS}
        ) AS counted) AS homeport_push_outbox_depth,
        greatest(coalesce(extract(epoch FROM ${dbNow()} - min(oldest."at")), 0), 0)::float8
          AS homeport_push_outbox_oldest_age_seconds
      FROM generate_series(0, ${MAX_QUEUE_PRIORITY}) AS class("priority") CROSS JOIN LATERAL (
        SELECT "nextAttemptAt" AS "at" FROM "QueuedPush"
        WHERE "leaseUntil" IS NULL AND "queuePriority" = class."priority" ORDER BY "nextAttemptAt" LIMIT 1
      ) AS oldest`;
    return row;
  });
}
