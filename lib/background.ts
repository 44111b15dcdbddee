import { removeOutdated } from "./auth/retention";
import type { Context } from "./context";
import { removeUnverified } from "./push/devices";

const MAIL_MS = 10 * 1000;
const RETENTION_MS = 60 * 60 * 1000;

/**
 * What a process does beside answering: sends the mail that an earlier failure or a kill left behind, and removes
 * what is kept no longer. Any number of processes may. Ends with the process, or once it is draining.
 */
export function startBackground(ctx: Context): void {
  const every = (ms: number, run: () => void) => setInterval(() => !ctx.draining && run(), ms).unref();
  every(MAIL_MS, ctx.mails.wake);
  every(RETENTION_MS, () => {
    Promise.all([removeOutdated(ctx), removeUnverified(ctx)]).catch((error: unknown) =>
      ctx.log.warn({ err: error }, "retention put off"),
    );
  });
  ctx.mails.wake();
}
