import path from "node:path";
import { queueRolloutHalted } from "./accounts/emails/operator-emails";
import { removeExpiredRows } from "./auth/remove-expired-rows";
import type { Context } from "./context";
import { removeOldFiles } from "./platform/adapters/file-transports";
import { COMMAND_LINE, recordOperatorEvent } from "./platform/audit/operator-events";
import { removeOldAuditEvents } from "./platform/audit/retention";
import { runScheduledBackup } from "./platform/backup/schedule";
import { warnAtStart } from "./platform/startup";
import { updateStatistics } from "./platform/statistics";
import { removeUnverifiedDevices } from "./push/devices";
import { removeOldCounts } from "./releases/adoption/stored-counts";
import { advanceRollouts } from "./releases/rollouts/advance-rollouts";
import { writeCompletedRollouts } from "./releases/rollouts/write-completed-rollouts";
import { removeExpiredUploads } from "./releases/uploads/uploads";
import { retryEvents } from "./subscriptions/inbox/inbox";
import { notifyTrialEndings } from "./subscriptions/notifications/trial-endings";
import { removeReconcileJobs, scheduleRenewals } from "./subscriptions/schedule-reconcile";

const EMAIL_INTERVAL_MS = 10 * 1000;
const REVOCATION_INTERVAL_MS = 10 * 1000;
const WEBHOOK_INTERVAL_MS = 2 * 1000;
/** How long a process may not know of a new endpoint that another one has created. */
const ENDPOINTS_INTERVAL_MS = 10 * 1000;
const BILLING_INTERVAL_MS = 30 * 1000;
const ADOPTION_INTERVAL_MS = 60 * 1000;
const ROLLOUT_INTERVAL_MS = 60 * 1000;
/** How long a process may apply a halted or changed schedule. */
const SCHEDULES_INTERVAL_MS = 10 * 1000;
/** How old the figures of the console's overview may be. Processes look a little more often. */
const STATISTICS_INTERVAL_MS = 5 * 60 * 1000;
/** How late a backup may begin. */
const BACKUP_INTERVAL_MS = 30 * 1000;
const RETENTION_INTERVAL_MS = 60 * 60 * 1000;
/** Age at which emails and notifications in files are removed. The links in them expire earlier. */
const MAX_OUTBOX_FILE_AGE_MS = 7 * 24 * 60 * 60 * 1000;

type Every = (ms: number, run: () => void) => void;

/** Warns of what may be wrong, and starts all periodic tasks. They end when the process begins to stop. */
export function startBackground(ctx: Context): void {
  warnAtStart(ctx);
  startProcessTasks(ctx);
  startSharedTasks(ctx);
}

/** Starts what each process does for itself: storing what it has counted, and reading what others have changed. */
function startProcessTasks(ctx: Context): void {
  const every = everyUntilStop(ctx);
  every(
    ADOPTION_INTERVAL_MS,
    oneAtATime(ctx, "storing adoption counts failed: they stay in memory", () =>
      Promise.all([ctx.adoption.flush(), ctx.updateReports.flush()]),
    ),
  );
  const refreshRollouts = oneAtATime(ctx, "rollout schedules could not be read: the last known ones stay", () =>
    ctx.rollouts.refresh(),
  );
  const refreshEndpoints = oneAtATime(ctx, "webhook endpoints could not be read: the last known ones stay", () =>
    ctx.webhooks.refresh(),
  );
  every(SCHEDULES_INTERVAL_MS, refreshRollouts);
  every(ENDPOINTS_INTERVAL_MS, refreshEndpoints);
  refreshRollouts();
  refreshEndpoints();
}

/**
 * Starts what one process may do for all: sending email and webhooks, revoking Apple's tokens, retrying billing events, reconciling with the billing provider, backups, and removing expired data. Several processes may do it
 * at the same time.
 */
function startSharedTasks(ctx: Context): void {
  const every = everyUntilStop(ctx);
  every(EMAIL_INTERVAL_MS, ctx.emails.wake);
  every(REVOCATION_INTERVAL_MS, ctx.appleRevocations.wake);
  every(BILLING_INTERVAL_MS, ctx.reconciler.wake);
  every(WEBHOOK_INTERVAL_MS, ctx.webhooks.wake);
  every(
    BILLING_INTERVAL_MS,
    oneAtATime(ctx, "retrying billing events failed", () => retryEvents(ctx)),
  );
  every(
    BILLING_INTERVAL_MS,
    oneAtATime(ctx, "scheduling overdue renewals to be reconciled failed", () => scheduleRenewals(ctx)),
  );
  every(
    BILLING_INTERVAL_MS,
    oneAtATime(ctx, "notifying of trials that end failed", () => notifyTrialEndings(ctx)),
  );
  const watch = oneAtATime(ctx, "watching rollouts failed", () => watchRollouts(ctx));
  every(ROLLOUT_INTERVAL_MS, watch);
  watch();
  const countStatistics = oneAtATime(ctx, "counting the overview's statistics failed", () =>
    updateStatistics(ctx, { minAgeMs: STATISTICS_INTERVAL_MS - 1_000 }),
  );
  every(STATISTICS_INTERVAL_MS, countStatistics);
  countStatistics();
  removeOldData(ctx, every);
  startBackups(ctx, every);
  for (const queue of [ctx.emails, ctx.appleRevocations, ctx.reconciler]) queue.wake();
}

function removeOldData(ctx: Context, every: Every): void {
  every(
    RETENTION_INTERVAL_MS,
    oneAtATime(ctx, "removing expired data failed", () =>
      Promise.all([
        removeExpiredRows(ctx),
        removeOldAuditEvents(ctx),
        removeUnverifiedDevices(ctx),
        removeReconcileJobs(ctx),
        removeOldCounts(ctx),
        removeExpiredUploads(ctx),
        ctx.webhooks.removeOldEvents(),
      ]),
    ),
  );
  removeOutboxFiles(ctx, every);
}

const everyUntilStop =
  (ctx: Context): Every =>
  (ms, run) =>
    void setInterval(() => !ctx.isDraining && run(), ms).unref();

function startBackups(ctx: Context, every: Every): void {
  const backUp = oneAtATime(ctx, "the scheduled backup failed", () => runScheduledBackup(ctx));
  every(BACKUP_INTERVAL_MS, backUp);
  backUp();
}

/** Removes old emails and notifications from the folder that embedded mode writes them to. */
function removeOutboxFiles(ctx: Context, every: Every): void {
  if (ctx.config.mode !== "embedded" && ctx.mailer.mode !== "files") return;
  const outbox = path.join(ctx.config.DATA_DIR, "outbox");
  const removeFiles = () => removeOldFiles(outbox, new Date(ctx.now().getTime() - MAX_OUTBOX_FILE_AGE_MS));
  const sweep = oneAtATime(ctx, "removing old files from the outbox folder failed", removeFiles);
  every(RETENTION_INTERVAL_MS, sweep);
  sweep();
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

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "emails" | "log" | "now" | "rollouts">;

/**
 * Advances the rollouts that are due and halts those that go wrong, with an event in the audit trail and emails. Writes the
 * completed ones to the catalog.
 */
export async function watchRollouts(deps: Deps): Promise<void> {
  const { config, db, dbNow, emails, log, rollouts } = deps;
  const operator = { actor: "service", accountId: null, source: COMMAND_LINE } as const;
  const changes = await advanceRollouts({
    db,
    dbNow,
    rollouts,
    onChange: async (tx, at, { type, schedule, rollout, reason }) => {
      const { id, product, version } = schedule;
      const details = { product, version, rollout, reason };
      await recordOperatorEvent(tx, at, operator, { type, target: `rollout:${id}`, details });
      if (reason !== null) await queueRolloutHalted({ config, emails }, tx, { product, version, reason });
    },
  });
  for (const { type, schedule, rollout, reason } of changes) {
    const { product, version } = schedule;
    log[reason === null ? "info" : "error"]({ product, version, rollout, reason }, type.replace("_", " "));
  }
  if (changes.some(({ reason }) => reason !== null)) emails.wake();
  await writeCompletedRollouts(deps);
}
