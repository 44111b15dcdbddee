import path from "node:path";
import { removeOldFiles } from "./adapters/outbox-folder";
import { removeExpiredRows } from "./auth/retention";
import type { Context } from "./context";
import { removeUnverifiedDevices } from "./push/devices";
import { retryReceived } from "./subscriptions/inbox/retry";
import { removeUnaskable } from "./subscriptions/reconcile/schedule";

const MAIL_MS = 10 * 1000;
const BILLING_MS = 30 * 1000;
const RETENTION_MS = 60 * 60 * 1000;
/** How long mails and notifications stay as files: longer than the links in them are good for. */
const OUTBOX_FILES_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * What a process does beside answering: sends the mail, applies the billing events and asks the billing provider
 * what an earlier failure or a kill left behind, and removes what is kept no longer. Any number of processes may. Ends
 * with the process, or once it is draining.
 */
export function startBackground(ctx: Context): void {
  const every = (ms: number, run: () => void) => setInterval(() => !ctx.draining && run(), ms).unref();
  every(MAIL_MS, ctx.emails.wake);
  every(BILLING_MS, ctx.reconciler.wake);
  every(
    BILLING_MS,
    oneAtATime(ctx, "billing events wait", () => retryReceived(ctx)),
  );
  every(
    RETENTION_MS,
    oneAtATime(ctx, "retention put off", () =>
      Promise.all([removeExpiredRows(ctx), removeUnverifiedDevices(ctx), removeUnaskable(ctx)]),
    ),
  );
  if (ctx.config.mode === "embedded") {
    const outbox = path.join(ctx.config.DATA_DIR, "outbox");
    const removeFiles = () => removeOldFiles(outbox, new Date(ctx.now().getTime() - OUTBOX_FILES_MS));
    const sweep = oneAtATime(ctx, "old mails stay in the outbox folder", removeFiles);
    every(RETENTION_MS, sweep);
    sweep();
  }
  ctx.emails.wake();
  ctx.reconciler.wake();
}

/** Starts `run` unless it is still running. Its failure is logged: the next one may succeed. */
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
