import path from "node:path";
import { removeOldFiles } from "./adapters/outbox-folder";
import { takeOverSecurityEvents } from "./audit/take-over";
import { removeExpiredRows } from "./auth/retention";
import { watchRollouts } from "./background/watch-rollouts";
import type { Context } from "./context";
import { removeUnverifiedDevices } from "./push/devices";
import { removeOldCounts } from "./releases/adoption/retention";
import { removeExpiredUploads } from "./releases/uploads/uploads";
import { retryEvents } from "./subscriptions/inbox/retry-events";
import { removeReconcileJobs } from "./subscriptions/reconcile/schedule";

const EMAIL_INTERVAL_MS = 10 * 1000;
const REVOCATION_INTERVAL_MS = 10 * 1000;
const BILLING_INTERVAL_MS = 30 * 1000;
const ADOPTION_INTERVAL_MS = 60 * 1000;
const ROLLOUT_INTERVAL_MS = 60 * 1000;
/** How long a process may apply a halted or changed schedule. */
const SCHEDULES_INTERVAL_MS = 10 * 1000;
const RETENTION_INTERVAL_MS = 60 * 60 * 1000;
/** Age at which emails and notifications in files are removed. The links in them expire earlier. */
const MAX_OUTBOX_FILE_AGE_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Starts the periodic tasks: sending queued email, revoking Apple's tokens, retrying billing events, reconciling with the billing provider, and
 * removing expired data. Several processes may run them at the same time. They end when the process begins to stop.
 */
export function startBackground(ctx: Context): void {
  const every = (ms: number, run: () => void) => setInterval(() => !ctx.draining && run(), ms).unref();
  every(EMAIL_INTERVAL_MS, ctx.emails.wake);
  every(REVOCATION_INTERVAL_MS, ctx.appleRevocations.wake);
  every(BILLING_INTERVAL_MS, ctx.reconciler.wake);
  every(
    BILLING_INTERVAL_MS,
    oneAtATime(ctx, "retrying billing events failed", () => retryEvents(ctx)),
  );
  every(
    ADOPTION_INTERVAL_MS,
    oneAtATime(ctx, "storing adoption counts failed: they stay in memory", () =>
      Promise.all([ctx.adoption.flush(), ctx.updateReports.flush()]),
    ),
  );
  every(
    ROLLOUT_INTERVAL_MS,
    oneAtATime(ctx, "watching rollouts failed", () => watchRollouts(ctx)),
  );
  const refreshRollouts = oneAtATime(ctx, "rollout schedules could not be read: the last known ones stay", () =>
    ctx.rollouts.refresh(),
  );
  every(SCHEDULES_INTERVAL_MS, refreshRollouts);
  refreshRollouts();
  every(
    RETENTION_INTERVAL_MS,
    oneAtATime(ctx, "removing expired data failed", () =>
      Promise.all([
        removeExpiredRows(ctx),
        removeUnverifiedDevices(ctx),
        removeReconcileJobs(ctx),
        removeOldCounts(ctx),
        removeExpiredUploads(ctx),
      ]),
    ),
  );
  const takeOver = oneAtATime(ctx, "moving security events to the audit trail failed", () =>
    takeOverSecurityEvents(ctx),
  );
  every(RETENTION_INTERVAL_MS, takeOver);
  takeOver();
  if (ctx.config.mode === "embedded" || ctx.mailer.mode === "files") {
    const outbox = path.join(ctx.config.DATA_DIR, "outbox");
    const removeFiles = () => removeOldFiles(outbox, new Date(ctx.now().getTime() - MAX_OUTBOX_FILE_AGE_MS));
    const sweep = oneAtATime(ctx, "removing old files from the outbox folder failed", removeFiles);
    every(RETENTION_INTERVAL_MS, sweep);
    sweep();
  }
  ctx.emails.wake();
  ctx.appleRevocations.wake();
  ctx.reconciler.wake();
}

/** Returns a function that starts `run` unless it is still running, and logs its failure. */
function oneAtATime({ log }: Pick<Context, "log">, failure: string, run: () => Promise<unknown>): () => void {
  let isRunning = false;
  return () => {
    if (isRunning) return;
    isRunning = true;
    run()
      .catch((error: unknown) => log.warn({ err: error }, failure))
      .finally(() => {
        isRunning = false;
      });
  };
}
