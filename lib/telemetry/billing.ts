import type { Registry } from "prom-client";
import type { Context } from "../context";
import { watchGauges } from "./gauges";

type Deps = Pick<Context, "db" | "dbNow">;

/** More rows are not counted: a scrape must not cost more the longer a queue is. */
const MAX_COUNTED = 100_000;

const GAUGES = {
  homeport_billing_events_received: `Billing events that are stored and not applied yet; at most ${MAX_COUNTED}`,
  homeport_billing_events_received_oldest_age_seconds: "How long ago the oldest of them was received",
  homeport_billing_reconciles_due: `Customers that the provider is due to be asked about; at most ${MAX_COUNTED}`,
  homeport_billing_reconciles_due_oldest_age_seconds: "How long the longest due of them has been due",
};

/** The gauges of the billing inbox, and the function that brings them up to date. */
export function watchBilling(prom: typeof import("prom-client"), registry: Registry, { db, dbNow }: Deps) {
  return watchGauges(prom, registry, GAUGES, async () => {
    const [row] = await db.$queryRaw<Record<keyof typeof GAUGES, number>[]>`
      SELECT
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "BillingEvent" WHERE state = 'received' LIMIT ${MAX_COUNTED}
        ) AS counted) AS homeport_billing_events_received,
        (SELECT greatest(coalesce(extract(epoch FROM ${dbNow()} - min("receivedAt")), 0), 0)::float8
          FROM "BillingEvent" WHERE state = 'received') AS homeport_billing_events_received_oldest_age_seconds,
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "ReconcileJob" WHERE "nextAttemptAt" <= ${dbNow()} LIMIT ${MAX_COUNTED}
        ) AS counted) AS homeport_billing_reconciles_due,
        (SELECT greatest(coalesce(extract(epoch FROM ${dbNow()} - min("nextAttemptAt")), 0), 0)::float8
          FROM "ReconcileJob") AS homeport_billing_reconciles_due_oldest_age_seconds`;
    return row;
  });
}
