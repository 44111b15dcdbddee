import type { Registry } from "prom-client";
import type { Context } from "../context";
import { watchGauges } from "./gauges";

type Deps = Pick<Context, "db" | "dbNow">;

/** More rows are not counted: a scrape must not cost more the longer the outbox is. */
const MAX_COUNTED = 100_000;

const GAUGES = {
  homeport_push_outbox_depth: `Notifications that wait to be sent, over all instances; at most ${MAX_COUNTED}`,
  homeport_push_outbox_oldest_age_seconds: "How long the longest due of them has been due",
};

/** The push outbox's gauges, and the function that brings them up to date. */
export function watchOutbox(prom: typeof import("prom-client"), registry: Registry, { db, dbNow }: Deps) {
  return watchGauges(prom, registry, GAUGES, async () => {
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
