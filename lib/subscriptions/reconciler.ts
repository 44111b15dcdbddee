import type { Context } from "../context";
import { databaseTimeIn } from "../platform/db/clock";
import { type Consumer, createConsumer } from "../platform/db/queue";
import { empty, sql } from "../platform/db/sql";
import { revenueCat } from "./providers/revenuecat";
import { reconcileCustomer } from "./reconcile-customer";
import { scheduleReconcile } from "./schedule-reconcile";

type Deps = Pick<Context, "billing" | "config" | "count" | "db" | "dbNow" | "log" | "now" | "webhooks">;
type ApiDeps = Deps & { billing: NonNullable<Context["billing"]> };
type ClaimedJob = { appUserId: string; attempts: number; leaseUntil: Date };

/** Longer than any attempt takes. */
const LEASE_SECONDS = 2 * 60;
/** The first delay, which doubles with each failure. All attempts take three days. */
const RETRY_SECONDS = 60;
const MAX_RETRY_SECONDS = 6 * 60 * 60;
const MAX_ATTEMPTS = 20;
/** Times further ahead were written before the database's clock was set back. */
const MAX_PAUSE_SECONDS = 24 * 60 * 60;

/**
 * Creates the reconciler of a process, which runs the reconcile jobs that are due, one at a time. Call `wake` after
 * `scheduleReconcile`, and periodically. It does nothing without an API key.
 */
export function createReconciler({ billing, ...rest }: Deps): Consumer {
  if (!billing) return { wake: () => {}, close: async () => {} };
  const deps = { billing, ...rest };
  return createConsumer({
    concurrency: 1,
    processNext: () => reconcileNext(deps),
    onError: (error) => deps.log.warn({ err: error }, "billing reconciliation is waiting for the database"),
  });
}

/** Claims and runs the job that has been due longest. Returns false if no job is due. */
export async function reconcileNext(deps: ApiDeps): Promise<boolean> {
  const job = await claim(deps);
  if (job) await runJob(deps, job);
  return job !== undefined;
}

/**
 * Reconciles a customer before all others. Returns false if the provider did not respond, in which case it is retried, if
 * its API is paused, or if another process reconciles the customer.
 */
export async function reconcileNow(deps: ApiDeps, appUserId: string): Promise<boolean> {
  await scheduleReconcile(deps.db, deps.dbNow, [appUserId]);
  const job = await claim(deps, appUserId);
  return job !== undefined && runJob(deps, job);
}

/** Runs a job, and removes it or sets its next attempt. Returns whether the provider responded. */
async function runJob(deps: ApiDeps, job: ClaimedJob): Promise<boolean> {
  const { count, db, log } = deps;
  const { appUserId, attempts, leaseUntil } = job;
  try {
    const { corrected, retryAfterSeconds } = await reconcileCustomer(deps, appUserId);
    count("billing_reconcile", { outcome: corrected > 0 ? "corrected" : "unchanged" });
    // The lease identifies the claim: a job that was scheduled again meanwhile stays.
    if (retryAfterSeconds === undefined) {
      await db.reconcileJob.deleteMany({ where: { appUserId, nextAttemptAt: leaseUntil } });
    } else await reschedule(deps, job, retryAfterSeconds, 0);
    return true;
  } catch (error) {
    const { retryAfterSeconds } = error as { retryAfterSeconds?: number };
    count("billing_reconcile", { outcome: retryAfterSeconds === undefined ? "failed" : "limited" });
    if (retryAfterSeconds !== undefined) {
      log.warn({ retryAfterSeconds }, "the billing provider responded 429: reconciliation is paused");
      await pause(deps, retryAfterSeconds);
      await reschedule(deps, job, retryAfterSeconds, attempts - 1);
    } else if (attempts >= MAX_ATTEMPTS) {
      log.error({ err: error, attempts }, "a customer was not reconciled: too many attempts failed");
      await db.reconcileJob.deleteMany({ where: { appUserId, nextAttemptAt: leaseUntil } });
    } else {
      log.warn({ err: error, attempts }, "a customer was not reconciled: it will be retried");
      await reschedule(deps, job, Math.min(RETRY_SECONDS * 2 ** (attempts - 1), MAX_RETRY_SECONDS), attempts);
    }
    return false;
  }
}

/** Claims the job of a customer, or the one that has been due longest, unless the provider's API is paused. */
async function claim({ db, dbNow }: Deps, appUserId?: string): Promise<ClaimedJob | undefined> {
  const [job] = await db.$queryRaw<ClaimedJob[]>`
    UPDATE "ReconcileJob"
    SET attempts = attempts + 1, "nextAttemptAt" = ${dbNow()} + interval '1 second' * ${LEASE_SECONDS}::int
    WHERE "appUserId" = (
      SELECT "appUserId" FROM "ReconcileJob"
      WHERE ("nextAttemptAt" <= ${dbNow()}
          OR "nextAttemptAt" > ${dbNow()} + interval '1 second' * ${MAX_PAUSE_SECONDS}::int)
        ${appUserId === undefined ? empty : sql`AND "appUserId" = ${appUserId}`}
        AND NOT EXISTS (
          SELECT 1 FROM "BillingApiPause" WHERE provider = ${revenueCat.name} AND until > ${dbNow()}
            AND until <= ${dbNow()} + interval '1 second' * ${MAX_PAUSE_SECONDS}::int)
      ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING "appUserId", attempts, "nextAttemptAt" AS "leaseUntil"`;
  return job;
}

async function reschedule(deps: Deps, job: ClaimedJob, seconds: number, attempts: number): Promise<void> {
  await deps.db.reconcileJob.updateMany({
    where: { appUserId: job.appUserId, nextAttemptAt: job.leaseUntil },
    data: { attempts, nextAttemptAt: await databaseTimeIn(deps, seconds) },
  });
}

/** Pauses all processes: the provider limits the requests of an API key, whatever the customer. */
async function pause(deps: Deps, seconds: number): Promise<void> {
  const provider = revenueCat.name;
  const until = await databaseTimeIn(deps, Math.max(seconds, 1));
  await deps.db.billingApiPause.upsert({ where: { provider }, create: { provider, until }, update: { until } });
}
