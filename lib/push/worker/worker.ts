import { setTimeout as delay } from "node:timers/promises";
import { createSender, type SenderDeps } from "./sender";

export type PushWorker = {
  /** Has the worker look at once. Otherwise it looks every second. */
  wake: () => void;
  /** Takes nothing more, and resolves once what is under way has ended and is written down. */
  stop: () => Promise<void>;
};

const POLL_MS = 1_000;
const SWEEP_MS = 10_000;

/** Sends what comes into the outbox until it is stopped. Any number may work on one PostgreSQL. */
export function startWorker(deps: SenderDeps): PushWorker {
  let isStopping = false;
  const bell = createBell();
  const sender = createSender(deps, () => isStopping);
  const guard = createGuard(deps);
  const run = async () => {
    let sweptAt = Number.NEGATIVE_INFINITY;
    while (!isStopping) {
      if (performance.now() - sweptAt >= SWEEP_MS) {
        await guard(sender.maintain);
        sweptAt = performance.now();
      }
      const taken = await guard(sender.claimAndSend);
      // The database is away: once it is back, whoever has sent rows gets the time to write that down first.
      if (taken === null) sweptAt = performance.now();
      if (!taken) await bell.wait(POLL_MS);
    }
  };
  const running = run();
  return {
    wake: bell.ring,
    stop: async () => {
      isStopping = true;
      bell.ring();
      await running;
      await sender.finish();
    },
  };
}

/** Runs what needs the database. It may be away: that is told once, and so is its return. */
function createGuard({ log }: SenderDeps) {
  let isAway = false;
  return async <T>(run: () => Promise<T>): Promise<T | null> => {
    try {
      const result = await run();
      if (isAway) log.info("the outbox can be read again");
      isAway = false;
      return result;
    } catch (error) {
      if (!isAway) log.error({ err: error }, "the outbox cannot be read");
      isAway = true;
      return null;
    }
  };
}

/** `wait` ends when it rings, or has rung since the last wait. */
function createBell() {
  let hasRung = false;
  let answer = () => {};
  return {
    ring: () => {
      hasRung = true;
      answer();
    },
    wait: async (mostMs: number) => {
      if (!hasRung) {
        const wakeUp = new AbortController();
        answer = () => wakeUp.abort();
        await delay(mostMs, null, { signal: wakeUp.signal }).catch(() => {});
      }
      hasRung = false;
    },
  };
}
