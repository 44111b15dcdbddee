import type { Registry } from "prom-client";
import type { Context } from "../context";
import { createDatabaseGauges } from "./gauges";

type Deps = Pick<Context, "db" | "dbNow">;

/** Bounds the cost of a scrape. */
const MAX_COUNTED = 100_000;

const GAUGES = {
  homeport_push_outbox_depth: `Queued notifications of all instances, at most ${MAX_COUNTED}.`,
  homeport_push_outbox_oldest_age_seconds: "Time since the oldest queued notification became due.",
};

/** Creates the gauges of the push outbox, and returns the function that updates them. */
export function createPushGauges(prom: typeof import("prom-client"), registry: Registry, { db, dbNow }: Deps) {
  return createDatabaseGauges(prom, registry, GAUGES, async () => {
    const [row] = await db.$queryRaw<Record<keyof typeof GAUGES, number>[]>`
      SELECT
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "PushDelivery" WHERE "state" = 'queued' LIMIT ${MAX_COUNTED}
        ) AS counted) AS homeport_push_outbox_depth,
        greatest(coalesce(extract(epoch FROM ${dbNow()} - min("nextAttemptAt")), 0), 0)::float8
          AS homeport_push_outbox_oldest_age_seconds
      FROM "PushDelivery" WHERE "state" = 'queued'`;
    return row;
  });
}
