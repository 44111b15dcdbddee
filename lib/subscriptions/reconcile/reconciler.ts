import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { databaseTimeIn } from "../../platform/db/clock";
import { type Consumer, createConsumer } from "../../platform/db/queue";
import { empty, sql } from "../../platform/db/sql";
import { openSources } from "../sources/find-source";
import type { Source } from "../sources/source";
import { type ReconcileDeps, reconcile } from "./reconcile";
import { scheduleReconcile } from "./schedule";

type Deps = ReconcileDeps & Pick<Context, "count">;
type ClaimedJob = { provider: string; reference: string; attempts: number; leaseUntil: Date };

/** Longer than any attempt takes. */
const LEASE_SECONDS = 2 * 60;
/** The first delay, which doubles with each failure. All attempts take three days. */
const RETRY_SECONDS = 60;
const MAX_RETRY_SECONDS = 6 * 60 * 60;
const MAX_ATTEMPTS = 20;
/** Times further ahead were written before the database's clock was set back. */
export const MAX_PAUSE_SECONDS = 24 * 60 * 60;

/**
 * Creates the reconciler of a process, which runs the reconcile jobs that are due, one at a time for each provider that has an
 * API key. Call `wake` after `scheduleReconcile`, and periodically.
 */
export function createReconciler(deps: Deps): Consumer {
  const consumers = openSources(deps).map((source) =>
    createConsumer({
      concurrency: 1,
      processNext: async () => {
        const next = delay(source.intervalMs, undefined, { ref: false });
        return (await reconcileNext(deps, source)) && next.then(() => true);
      },
      onError: (error) => deps.log.warn({ err: error }, "billing reconciliation is waiting for the database"),
    }),
  );
  return {
    wake: () => {
      for (const { wake } of consumers) wake();
    },
    close: async () => void (await Promise.all(consumers.map(({ close }) => close()))),
  };
}

/** Claims and runs a provider's job that has been due longest. Returns false if no job is due. */
export async function reconcileNext(deps: Deps, source: Source): Promise<boolean> {
  const job = await claim(deps, source);
  if (job) await runJob(deps, source, job);
  return job !== undefined;
}

/**
 * Reconciles a reference before all others. Returns false if the provider did not respond, in which case it is retried, if
 * its API is paused, or if another process reconciles it.
 */
export async function reconcileNow(deps: Deps, source: Source, reference: string): Promise<boolean> {
  await scheduleReconcile(deps.db, deps.dbNow, [{ provider: source.provider, reference }]);
  const job = await claim(deps, source, reference);
  return job !== undefined && runJob(deps, source, job);
}

/** Runs a job, and removes it or sets its next attempt. Returns whether the provider responded. */
async function runJob(deps: Deps, source: Source, job: ClaimedJob): Promise<boolean> {
  const { count, log } = deps;
  const { provider, reference, attempts } = job;
  try {
    const { corrected, retryAfterSeconds } = await reconcile(deps, source, reference);
    count("billing_reconcile", { provider, outcome: corrected > 0 ? "corrected" : "unchanged" });
    await (retryAfterSeconds === undefined ? complete(deps, job) : reschedule(deps, job, retryAfterSeconds, 0));
    return true;
  } catch (error) {
    const { retryAfterSeconds } = error as { retryAfterSeconds?: number };
    count("billing_reconcile", { provider, outcome: retryAfterSeconds === undefined ? "failed" : "limited" });
    if (retryAfterSeconds !== undefined) {
      await pauseApi(deps, provider, retryAfterSeconds);
      await reschedule(deps, job, retryAfterSeconds, attempts - 1);
    } else if (attempts >= MAX_ATTEMPTS) {
      log.error({ err: error, provider, attempts }, "a purchase was not reconciled: too many attempts failed");
      await complete(deps, job);
    } else {
      log.warn({ err: error, provider, attempts }, "a purchase was not reconciled: it will be retried");
      await reschedule(deps, job, Math.min(RETRY_SECONDS * 2 ** (attempts - 1), MAX_RETRY_SECONDS), attempts);
    }
    return false;
  }
}

/** As SQL, whether a provider's API is paused. */
export const isPaused = (dbNow: Context["dbNow"], provider: string) => sql`EXISTS (
  SELECT 1 FROM "BillingApiPause" WHERE provider = ${provider} AND until > ${dbNow()}
    AND until <= ${dbNow()} + interval '1 second' * ${MAX_PAUSE_SECONDS}::int)`;

/** Returns for how many seconds a provider's API is paused: 0 if it is not. */
export async function readPause({ db, dbNow }: Pick<Context, "db" | "dbNow">, provider: string): Promise<number> {
  const [pause] = await db.$queryRaw<{ seconds: number }[]>`
    SELECT ceil(extract(epoch FROM until - ${dbNow()}))::int AS seconds FROM "BillingApiPause"
    WHERE provider = ${provider} AND ${isPaused(dbNow, provider)}`;
  return pause?.seconds ?? 0;
}

/** Claims the job of a reference, or the one that has been due longest, unless the provider's API is paused. */
async function claim({ db, dbNow }: Deps, { provider }: Source, reference?: string): Promise<ClaimedJob | undefined> {
  const [job] = await db.$queryRaw<ClaimedJob[]>`
    UPDATE "BillingReconcileJob"
    SET attempts = attempts + 1, "nextAttemptAt" = ${dbNow()} + interval '1 second' * ${LEASE_SECONDS}::int
    WHERE provider = ${provider} AND reference = (
      SELECT reference FROM "BillingReconcileJob"
      WHERE provider = ${provider} AND ("nextAttemptAt" <= ${dbNow()}
          OR "nextAttemptAt" > ${dbNow()} + interval '1 second' * ${MAX_PAUSE_SECONDS}::int)
        ${reference === undefined ? empty : sql`AND reference = ${reference}`}
        AND NOT ${isPaused(dbNow, provider)}
      ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING provider, reference, attempts, "nextAttemptAt" AS "leaseUntil"`;
  return job;
}

/** The lease identifies the claim: a job that was scheduled again meanwhile stays. */
const isClaimed = ({ provider, reference, leaseUntil }: ClaimedJob) => ({
  provider,
  reference,
  nextAttemptAt: leaseUntil,
});

async function complete({ db }: Deps, job: ClaimedJob): Promise<void> {
  await db.billingReconcileJob.deleteMany({ where: isClaimed(job) });
}

async function reschedule(deps: Deps, job: ClaimedJob, seconds: number, attempts: number): Promise<void> {
  const data = { attempts, nextAttemptAt: await databaseTimeIn(deps, seconds) };
  await deps.db.billingReconcileJob.updateMany({ where: isClaimed(job), data });
}

/**
 * Pauses all processes: a provider limits the requests of an API key, whatever the customer. Of two requests at once that
 * were answered with 429, the longer pause holds.
 */
export async function pauseApi(
  { db, dbNow, log }: Pick<Context, "db" | "dbNow" | "log">,
  provider: string,
  seconds: number,
) {
  log.warn({ provider, seconds }, "the billing provider responded 429: requests to its API are paused");
  await db.$executeRaw`
    INSERT INTO "BillingApiPause" AS pause (provider, until)
    VALUES (${provider}, ${dbNow()} + interval '1 second' * ${Math.max(seconds, 1)}::int)
    ON CONFLICT (provider) DO UPDATE SET until = excluded.until
    WHERE pause.until NOT BETWEEN excluded.until AND ${dbNow()} + interval '1 second' * ${MAX_PAUSE_SECONDS}::int`;
}
