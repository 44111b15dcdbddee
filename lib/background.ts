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
import { checkForUpdates } from "./platform/update-check";
import { removeUnverifiedDevices } from "./push/devices/devices";
import { refreshReceipts } from "./push/evidence/refresh-receipts";
import { removeOldCounts } from "./releases/adoption/stored-counts";
import { advanceRollouts } from "./releases/rollouts/advance-rollouts";
import { finishLastChange, writeCompletedRollouts } from "./releases/rollouts/write-completed-rollouts";
import { removeExpiredUploads } from "./releases/uploads/uploads";
import { expireGrants } from "./subscriptions/grants/grants";
import { retryWithdrawals } from "./subscriptions/inbox/consent";
import { retryEvents } from "./subscriptions/inbox/inbox";
import { notifyTrialEndings } from "./subscriptions/notifications/trial-endings";
import { removeReconcileJobs, scheduleRenewals } from "./subscriptions/reconcile/schedule";
import { sweepProviders } from "./subscriptions/reconcile/sweep";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** How old the figures of the console's overview may be. Processes look a little more often. */
const STATISTICS = { minAgeMs: 5 * MINUTE_MS - SECOND_MS };
/** Age at which emails and notifications in files are removed. The links in them expire earlier. */
const MAX_OUTBOX_FILE_AGE_MS = 7 * 24 * HOUR_MS;

/** What runs periodically; `failure` is logged if it fails. It is not started again while it is running. */
type Task = readonly [everyMs: number, failure: string, run: () => unknown];

/** Warns of what may be wrong, and starts all periodic tasks. They end when the process begins to stop. */
export function startBackground(ctx: Context): void {
  warnAtStart(ctx);
  const start = ([everyMs, failure, run]: Task) => {
    const runOnce = oneAtATime(ctx, failure, run);
    setInterval(() => !ctx.isDraining && runOnce(), everyMs).unref();
    return runOnce;
  };
  for (const task of tasks(ctx)) start(task);
  for (const task of tasksFromStart(ctx)) void start(task)();
}

/** Each process runs the first for itself, which stores what it has counted; several may run any other at the same time. */
const tasks = (ctx: Context): Task[] => [
  [MINUTE_MS, "storing adoption counts failed: they stay in memory", () => flushCounts(ctx)],
  [2 * SECOND_MS, "sending webhooks failed", ctx.webhooks.wake],
  [30 * SECOND_MS, "retrying billing events failed", () => retryEvents(ctx)],
  [30 * SECOND_MS, "retrying withdrawn consents failed", () => retryWithdrawals(ctx)],
  [30 * SECOND_MS, "ending expired grants failed", () => expireGrants(ctx)],
  [30 * SECOND_MS, "scheduling overdue renewals to be reconciled failed", () => scheduleRenewals(ctx)],
  [30 * SECOND_MS, "notifying of trials that end failed", () => notifyTrialEndings(ctx)],
  [MINUTE_MS, "asking Apple for the receipts of attested keys failed", () => refreshReceipts(ctx)],
  [HOUR_MS, "removing expired data failed", () => removeOldData(ctx)],
];

/** Those that also run at the start. The first three read what other processes have changed. */
const tasksFromStart = (ctx: Context): Task[] => [
  [10 * SECOND_MS, "release policies could not be read: the last known ones stay", ctx.policies.refresh],
  [10 * SECOND_MS, "rollout schedules could not be read: the last known ones stay", ctx.rollouts.refresh],
  [10 * SECOND_MS, "webhook endpoints could not be read: the last known ones stay", ctx.webhooks.refresh],
  [2 * SECOND_MS, "writing the release mirror failed", () => ctx.mirror?.sync()],
  [MINUTE_MS, "watching rollouts failed", () => watchRollouts(ctx)],
  [5 * MINUTE_MS, "counting the overview's statistics failed", () => updateStatistics(ctx, STATISTICS)],
  [HOUR_MS, "removing old files from the outbox folder failed", () => removeOutboxFiles(ctx)],
  [HOUR_MS, "checking for newer versions failed: the next attempt is in a day", () => checkForUpdates(ctx)],
  [30 * SECOND_MS, "the scheduled backup failed", () => runScheduledBackup(ctx)],
  [10 * SECOND_MS, "sending emails failed", ctx.emails.wake],
  [10 * SECOND_MS, "revoking Apple's tokens failed", ctx.appleRevocations.wake],
  [30 * SECOND_MS, "reconciling with the billing provider failed", ctx.reconciler.wake],
  [30 * SECOND_MS, "reading the billing providers' events failed", () => sweepProviders(ctx)],
];

const flushCounts = (ctx: Context) => Promise.all([ctx.adoption.flush(), ctx.updateReports.flush()]);

function removeOldData(ctx: Context): Promise<unknown> {
  return Promise.all([
    removeExpiredRows(ctx),
    removeOldAuditEvents(ctx),
    removeUnverifiedDevices(ctx),
    removeReconcileJobs(ctx),
    removeOldCounts(ctx),
    removeExpiredUploads(ctx),
    ctx.webhooks.removeOldEvents(),
  ]);
}

/** Removes old emails and notifications from the folder that embedded mode writes them to. */
async function removeOutboxFiles({ config, mailer, now }: Context): Promise<void> {
  if (config.mode !== "embedded" && mailer.mode !== "files") return;
  await removeOldFiles(path.join(config.DATA_DIR, "outbox"), new Date(now().getTime() - MAX_OUTBOX_FILE_AGE_MS));
}

/** Returns a function that starts `run` unless it is still running, and logs its failure. */
function oneAtATime({ log }: Pick<Context, "log">, failure: string, run: () => unknown): () => Promise<void> {
  let isRunning = false;
  return async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await run();
    } catch (error) {
      log.warn({ err: error }, failure);
    } finally {
      isRunning = false;
    }
  };
}

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "emails" | "log" | "now" | "rollouts">;

/**
 * Advances the rollouts that are due and halts those that go wrong, with an event in the audit trail and emails. Writes the
 * completed ones to the catalog. First finishes a change of the catalog that was interrupted: it may offer their releases again.
 */
export async function watchRollouts(deps: Deps): Promise<void> {
  const { config, db, dbNow, emails, log, rollouts } = deps;
  const operator = { actor: "service", accountId: null, source: COMMAND_LINE } as const;
  await finishLastChange(deps).catch(() => {}); // it is tried again below: rollouts are halted all the same
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
