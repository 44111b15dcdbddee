import type { Context, Tx } from "../../context";
import { sql, uuidArray } from "../../platform/db/sql";
import type { ParsedEvent } from "../inbox/decide";
import type { Refolded } from "../inbox/fold";
import { revenueCat } from "../providers/revenuecat";
import { appUserIdOf, findReferences, type Reference } from "../references";
import { isHashedEmail } from "../sanitize";
import { openSources } from "../sources/find-source";
import { revenueCatSource } from "../sources/revenuecat";
import type { Source } from "../sources/source";

type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now" | "reconciler">;

/** The shortest time between two reconciliations of a purchase because of its overdue renewal. */
const MIN_INTERVAL_MS = 15 * 60 * 1000;

const OR_EARLIER = sql`ON CONFLICT (provider, reference) DO UPDATE
  SET "nextAttemptAt" = LEAST("BillingReconcileJob"."nextAttemptAt", EXCLUDED."nextAttemptAt")`;

/** Schedules what is to be reconciled, in the caller's transaction, once each. Call `reconciler.wake` after the commit. */
export async function scheduleReconcile(tx: Tx, dbNow: Context["dbNow"], references: readonly Reference[]) {
  if (references.length === 0) return;
  const [providers, ids] = [references.map(({ provider }) => provider), references.map(({ reference }) => reference)];
  await tx.$executeRaw`
    INSERT INTO "BillingReconcileJob" (provider, reference, "nextAttemptAt")
    SELECT DISTINCT provider, reference, ${dbNow()}
    FROM unnest(${providers}::text[], ${ids}::text[]) AS job (provider, reference) ORDER BY provider, reference
    ${OR_EARLIER}`;
}

/**
 * Returns the customers to reconcile after an event: owners of purchases that it transferred or refunded, since the
 * event does not contain their whole state, and the new owner in a transfer of purchases that are not stored.
 */
export async function customersToReconcile(
  tx: Tx,
  { provider, type, appUserId, facts: { identityChange } }: ParsedEvent,
  purchases: Refolded[],
): Promise<Reference[]> {
  if (provider !== revenueCat.name || type === "SNAPSHOT" || type === "IMPORT") return [];
  const isUnknownTransfer = identityChange === "transfer" && purchases.length === 0;
  if (isUnknownTransfer) return appUserId && !isHashedEmail(appUserId) ? [{ provider, reference: appUserId }] : [];
  const changed = purchases.filter(
    ({ before, after }) => identityChange !== null || (after.refundedAt !== null && before.refundedAt === null),
  );
  const ids = changed.map(({ before }) => before.id);
  return findReferences(tx, [revenueCatSource], ids);
}

/**
 * Schedules the owners of purchases with an overdue renewal, without delaying the caller, at most every 15 minutes for
 * each purchase. Does nothing without an API key. Never throws.
 */
export async function scheduleOverdue(deps: Deps, purchaseIds: string[]): Promise<void> {
  if (purchaseIds.length === 0) return;
  await scheduleInBackground(deps, async ({ db, dbNow, now }) => {
    const at = now();
    const before = new Date(at.getTime() - MIN_INTERVAL_MS);
    // No transaction, which would hold a connection: if the process is killed, the next status request schedules again.
    // In SQL: Prisma would set `updatedAt`, too, but nothing of the purchase has changed.
    const claimed = await db.$queryRaw<{ id: string }[]>`
      UPDATE "Purchase" SET "reconciledAt" = ${at}::timestamptz
      WHERE id = ANY(${uuidArray(purchaseIds)}) AND ("reconciledAt" IS NULL OR "reconciledAt" <= ${before}::timestamptz)
      RETURNING id::text`;
    const ids = claimed.map(({ id }) => id);
    await scheduleReconcile(db, dbNow, await findReferences(db, openSources(deps), ids));
    return ids.length;
  });
}

/**
 * Takes over the jobs of instances of version 1.0, and deletes the reconcile jobs and sweeps that there is no API key to run
 * with. Returns the number of these jobs.
 */
export async function removeReconcileJobs(deps: Pick<Deps, "billing" | "db">): Promise<number> {
  await deps.db.$executeRaw`
    WITH old AS (DELETE FROM "ReconcileJob" RETURNING "appUserId", "nextAttemptAt")
    INSERT INTO "BillingReconcileJob" (provider, reference, "nextAttemptAt")
    SELECT ${revenueCat.name}, "appUserId", "nextAttemptAt" FROM old ON CONFLICT DO NOTHING`;
  const providers = openSources(deps).map(({ provider }) => provider);
  const where = { provider: { notIn: providers } };
  await deps.db.billingSweep.deleteMany({ where });
  return (await deps.db.billingReconcileJob.deleteMany({ where })).count;
}

/**
 * Schedules an account without purchases with RevenueCat, once a session: a purchase from before the sign-in is found although
 * no event has named the account since. Uses the account's id as the provider wrote it, if an event names it. Does nothing without
 * an API key. Never throws.
 */
export async function scheduleAfterSignIn(deps: Deps, sessionId: string): Promise<void> {
  if (!deps.billing.revenuecat) return;
  await scheduleInBackground(
    deps,
    ({ db, dbNow }) => db.$executeRaw`
      WITH session AS (
        UPDATE "Session" SET "reconciledAt" = ${dbNow()} WHERE id = ${sessionId}::uuid AND "reconciledAt" IS NULL
        RETURNING "accountId"::text AS "accountId"
      )
      INSERT INTO "BillingReconcileJob" (provider, reference, "nextAttemptAt")
      SELECT ${revenueCat.name}, ${appUserIdOf(sql`session."accountId"`)}, ${dbNow()} FROM session
      ${OR_EARLIER}`,
  );
}

/** `schedule` returns the number of customers or purchases that it scheduled. */
async function scheduleInBackground(deps: Deps, schedule: (deps: Deps) => Promise<number>): Promise<void> {
  if (openSources(deps).length === 0) return;
  try {
    if ((await schedule(deps)) > 0) deps.reconciler.wake();
  } catch (error) {
    deps.log.warn({ err: error }, "billing reconciliation was not scheduled");
  }
}

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
export async function scheduleRenewals(deps: Deps): Promise<void> {
  for (const source of openSources(deps)) await scheduleRenewalsAt(deps, source);
}

async function scheduleRenewalsAt({ db, dbNow, now, reconciler }: Deps, source: Source): Promise<void> {
  const { provider } = source;
  const at = now().getTime();
  const [earliest, latest, yesterday] = [at - MAX_OVERDUE_MS, at - DELIVERY_MS, at - DAY_MS].map((ms) => new Date(ms));
  await db.$transaction(async (tx) => {
    const claimed = await tx.$queryRaw<{ id: string }[]>`
      UPDATE "Purchase" SET "reconciledAt" = ${new Date(at)}::timestamptz
      WHERE id = ANY(ARRAY(
        SELECT id FROM "Purchase"
        WHERE "currentPeriodEndsAt" > ${earliest}::timestamptz AND "currentPeriodEndsAt" <= ${latest}::timestamptz
          AND "endedAt" IS NULL AND "unsubscribedAt" IS NULL AND NOT "isLifetime" AND environment = 'PRODUCTION'
          AND provider IS NOT DISTINCT FROM ${provider} AND "accountId" IS NOT NULL AND store <> 'PROMOTIONAL'
          AND "periodType" NOT IN ('PREPAID', 'PROMOTIONAL')
          AND "billingIssueDetectedAt" IS NULL AND "pausedAt" IS NULL
          AND ("reconciledAt" IS NULL OR "reconciledAt" < GREATEST("currentPeriodEndsAt", ${yesterday}::timestamptz))
        ORDER BY "currentPeriodEndsAt"
        LIMIT ${MAX_DUE_JOBS}::int - (SELECT count(*) FROM (
          SELECT 1 FROM "BillingReconcileJob" WHERE provider = ${provider} AND "nextAttemptAt" <= ${dbNow()}
          LIMIT ${MAX_DUE_JOBS}::int
        ) AS due)
        FOR NO KEY UPDATE SKIP LOCKED))
      RETURNING id`;
    const ids = claimed.map(({ id }) => id);
    await scheduleReconcile(tx, dbNow, await findReferences(tx, [source], ids));
  });
  reconciler.wake();
}
