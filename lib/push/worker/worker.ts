import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { queueBroadcast } from "../outbox/broadcasts";
import { createSender, type SenderDeps } from "./sender";

const POLL_INTERVAL_MS = 1_000;
const MAINTENANCE_INTERVAL_MS = 10_000;

/** Starts to send what is in the outbox, and to queue broadcasts. Any number of workers may run on one PostgreSQL. */
export function startWorker(deps: SenderDeps & Pick<Context, "entitledAccounts">) {
  let isStopping = false;
  const signal = createWakeSignal();
  const broadcastSignal = createWakeSignal();
  const sender = createSender(deps, () => isStopping);
  const withDatabase = createDatabaseGuard(deps);
  const run = async () => {
    let maintainedAt = Number.NEGATIVE_INFINITY;
    while (!isStopping) {
      if (performance.now() - maintainedAt >= MAINTENANCE_INTERVAL_MS) {
        await withDatabase(sender.maintain);
        maintainedAt = performance.now();
      }
      const started = await withDatabase(sender.claimAndSend);
      // After an outage of the database, every worker has time to store its outcomes before leases are released.
      if (started === null) maintainedAt = performance.now();
      if (!started) await signal.wait(POLL_INTERVAL_MS);
    }
  };
  const queueBroadcasts = async () => {
    while (!isStopping) {
      if (await withDatabase(() => queueBroadcast(deps))) signal.notify();
      else await broadcastSignal.wait(POLL_INTERVAL_MS);
    }
  };
  const running = Promise.all([run(), queueBroadcasts()]);
  const wake = () => {
    signal.notify();
    broadcastSignal.notify();
  };
  return {
    /** Makes the worker look for due deliveries at once instead of within a second. */
    wake,
    /** Claims nothing more, and resolves once what was started has ended and is stored. */
    stop: async () => {
      isStopping = true;
      wake();
      await running;
      await sender.finish();
    },
  };
}

/** Runs what needs the database. Returns null on failure; logs when the database goes away and when it returns. */
function createDatabaseGuard({ log }: SenderDeps) {
  let isUnreachable = false;
  return async <T>(run: () => Promise<T>): Promise<T | null> => {
    try {
      const result = await run();
      if (isUnreachable) log.info("the push outbox is readable again");
      isUnreachable = false;
      return result;
    } catch (error) {
      if (!isUnreachable) log.error({ err: error }, "could not read the push outbox");
      isUnreachable = true;
      return null;
    }
  };
}

/** `wait` ends after `maxMs`, or when `notify` is called, or was called since the last wait. */
function createWakeSignal() {
  let isNotified = false;
  let interrupt = () => {};
  return {
    notify: () => {
      isNotified = true;
      interrupt();
    },
    wait: async (maxMs: number) => {
      if (!isNotified) {
        const controller = new AbortController();
        interrupt = () => controller.abort();
        await delay(maxMs, null, { signal: controller.signal }).catch(() => {});
      }
      isNotified = false;
    },
  };
}
