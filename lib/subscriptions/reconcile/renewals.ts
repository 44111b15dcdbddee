import type { Context } from "../../context";
import { revenueCat } from "../providers/revenuecat";
import { findAppUserIds } from "./app-user-ids";
import { scheduleReconcile } from "./schedule";

type Deps = Pick<Context, "billing" | "db" | "dbNow" | "now" | "reconciler">;

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** How long the event of a renewal may take. RevenueCat delivers most within a minute ("Webhooks", "Webhook Delivery"). */
const DELIVERY_MS = 5 * MINUTE_MS;
/** Renewals that were due earlier are left to the next request for the status. */
const MAX_OVERDUE_MS = 30 * DAY_MS;
/** The due jobs above which no more are scheduled, so that those of a status request or a refund need not wait long. */
const MAX_DUE_JOBS = 100;

/**
 * Schedules the reconciliation of customers whose renewal was due and for which no event has arrived: once after the
 * end of each period, then once a day. Schedules few at a time, to stay within the limit of the provider's API. Does
 * nothing without an API key. Several processes may do this at the same time.
 */
export async function scheduleRenewals({ billing, db, dbNow, now, reconciler }: Deps): Promise<void> {
  if (!billing) return;
  const at = now().getTime();
  const [earliest, latest, yesterday] = [at - MAX_OVERDUE_MS, at - DELIVERY_MS, at - DAY_MS].map((ms) => new Date(ms));
  await db.$transaction(async (tx) => {
    const claimed = await tx.$queryRaw<{ id: string }[]>`
      UPDATE "Purchase" SET "reconciledAt" = ${new Date(at)}::timestamptz
      WHERE id = ANY(ARRAY(
        SELECT id FROM "Purchase"
        WHERE "currentPeriodEndsAt" > ${earliest}::timestamptz AND "currentPeriodEndsAt" <= ${latest}::timestamptz
          AND "endedAt" IS NULL AND "unsubscribedAt" IS NULL AND NOT "isLifetime" AND environment = 'PRODUCTION'
          AND provider IS NOT DISTINCT FROM ${revenueCat.name} AND "accountId" IS NOT NULL AND store <> 'PROMOTIONAL'
          AND "periodType" NOT IN ('PREPAID', 'PROMOTIONAL')
          AND "billingIssueDetectedAt" IS NULL AND "pausedAt" IS NULL
          AND ("reconciledAt" IS NULL OR "reconciledAt" < GREATEST("currentPeriodEndsAt", ${yesterday}::timestamptz))
        ORDER BY "currentPeriodEndsAt"
        LIMIT ${MAX_DUE_JOBS}::int - (SELECT count(*) FROM (
          SELECT 1 FROM "ReconcileJob" WHERE "nextAttemptAt" <= ${dbNow()} LIMIT ${MAX_DUE_JOBS}::int
        ) AS due)
        FOR NO KEY UPDATE SKIP LOCKED))
      RETURNING id`;
    const ids = claimed.map(({ id }) => id);
    await scheduleReconcile(tx, dbNow, await findAppUserIds(tx, ids));
  });
  reconciler.wake();
}
