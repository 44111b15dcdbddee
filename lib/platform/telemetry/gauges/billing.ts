import type { Registry } from "prom-client";
import type { Context } from "../../../context";
import type { Prisma } from "../../db/generated/client";
import { sql } from "../../db/sql";
import { createDatabaseGauges, MAX_COUNTED_ROWS } from "./database-gauges";

type Deps = Pick<Context, "db" | "dbNow">;

const GAUGES = {
  homeport_billing_events_pending: `Billing events that are stored but not applied yet, at most ${MAX_COUNTED_ROWS}.`,
  homeport_billing_events_pending_oldest_age_seconds: "Time since the oldest pending billing event was received.",
  homeport_billing_events_failed: `Billing events that could not be applied, at most ${MAX_COUNTED_ROWS}.`,
  homeport_billing_events_failed_oldest_age_seconds: "Time since the oldest failed billing event was received.",
  homeport_billing_renewals_due: `Subscriptions that renew within the hour, at most ${MAX_COUNTED_ROWS}.`,
  homeport_billing_renewals_overdue: `Subscriptions that were due to renew an hour to a day ago and for which no event has arrived, at most ${MAX_COUNTED_ROWS}.`,
  homeport_billing_reconciles_due: `Customers that are due to be reconciled with the provider, at most ${MAX_COUNTED_ROWS}.`,
  homeport_billing_reconciles_due_oldest_age_seconds: "Time since the oldest due reconcile became due.",
};

/** Creates the gauges of the billing inbox, and returns the function that updates them. */
export function createBillingGauges(prom: typeof import("prom-client"), registry: Registry, { db, dbNow }: Deps) {
  return createDatabaseGauges(prom, registry, GAUGES, async () => {
    const [row] = await db.$queryRaw<Record<keyof typeof GAUGES, number>[]>`
      SELECT
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "BillingEvent" WHERE state = 'received' LIMIT ${MAX_COUNTED_ROWS}
        ) AS counted) AS homeport_billing_events_pending,
        (SELECT greatest(coalesce(extract(epoch FROM ${dbNow()} - min("receivedAt")), 0), 0)::float8
          FROM "BillingEvent" WHERE state = 'received') AS homeport_billing_events_pending_oldest_age_seconds,
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "BillingEvent" WHERE state = 'failed' LIMIT ${MAX_COUNTED_ROWS}
        ) AS counted) AS homeport_billing_events_failed,
        (SELECT greatest(coalesce(extract(epoch FROM ${dbNow()} - min("receivedAt")), 0), 0)::float8
          FROM "BillingEvent" WHERE state = 'failed') AS homeport_billing_events_failed_oldest_age_seconds,
        (${countRenewals(sql`${dbNow()}`, sql`${dbNow()} + interval '1 hour'`)}) AS homeport_billing_renewals_due,
        (${countRenewals(sql`${dbNow()} - interval '1 day'`, sql`${dbNow()} - interval '1 hour'`)})
          AS homeport_billing_renewals_overdue,
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "ReconcileJob" WHERE "nextAttemptAt" <= ${dbNow()} LIMIT ${MAX_COUNTED_ROWS}
        ) AS counted) AS homeport_billing_reconciles_due,
        (SELECT greatest(coalesce(extract(epoch FROM ${dbNow()} - min("nextAttemptAt")), 0), 0)::float8
          FROM "ReconcileJob") AS homeport_billing_reconciles_due_oldest_age_seconds`;
    return row;
  });
}

/** A subscription of an account that should renew at the end of its period. */
const isRenewing = sql`
  "endedAt" IS NULL AND "unsubscribedAt" IS NULL AND NOT "isLifetime" AND environment = 'PRODUCTION'
  AND "accountId" IS NOT NULL AND "periodType" NOT IN ('PREPAID', 'PROMOTIONAL') AND store <> 'PROMOTIONAL'
  AND "billingIssueDetectedAt" IS NULL AND "pausedAt" IS NULL`;

/** Counts the purchases whose renewal is due after `from`, until `to`. */
const countRenewals = (from: Prisma.Sql, to: Prisma.Sql): Prisma.Sql => sql`
  SELECT count(*)::int FROM (
    SELECT 1 FROM "Purchase"
    WHERE "currentPeriodEndsAt" > ${from} AND "currentPeriodEndsAt" <= ${to} AND ${isRenewing}
    LIMIT ${MAX_COUNTED_ROWS}
  ) AS counted`;
