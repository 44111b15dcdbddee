import type { Registry } from "prom-client";
import type { Context } from "../../../context";
import { createDatabaseGauges, MAX_COUNTED_ROWS } from "./database-gauges";

type Deps = Pick<Context, "db" | "dbNow">;

const GAUGES = {
  homeport_mail_queue_depth: `Emails that are not sent yet, at most ${MAX_COUNTED_ROWS}.`,
  homeport_mail_queue_oldest_age_seconds: "Time since the oldest email that is not sent was queued.",
};

/** Creates the gauges of the mail queue, and returns the function that updates them. */
export function createMailGauges(prom: typeof import("prom-client"), registry: Registry, { db, dbNow }: Deps) {
  return createDatabaseGauges(prom, registry, GAUGES, async () => {
    // Ids sort by time: the first one is the oldest.
    const [row] = await db.$queryRaw<Record<keyof typeof GAUGES, number>[]>`
      SELECT
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "QueuedEmail" LIMIT ${MAX_COUNTED_ROWS}
        ) AS counted) AS homeport_mail_queue_depth,
        greatest(coalesce(extract(epoch FROM ${dbNow()} - (
          SELECT "createdAt" FROM "QueuedEmail" ORDER BY "id" LIMIT 1
        )), 0), 0)::float8 AS homeport_mail_queue_oldest_age_seconds`;
    return row;
  });
}
