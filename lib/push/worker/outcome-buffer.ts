import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { type PushOutcome, recordOutcomes } from "./outcomes";

/** How long outcomes are collected for one statement. */
const BATCH_INTERVAL_MS = 50;
const MAX_BATCH = 1_000;
const MAX_PENDING = 4_000;
const RETRY_MS = 1_000;
const MAX_FLUSH_ATTEMPTS = 3;

/**
 * Creates a buffer that stores outcomes in batches. It keeps what the database did not accept and tries again:
 * a notification that was sent must not be sent again because the database was unreachable.
 */
export function createOutcomeBuffer(deps: Pick<Context, "count" | "db" | "dbNow" | "log">) {
  let outcomes: PushOutcome[] = [];
  let writing: Promise<void> | null = null;
  let isFlushing = false;

  const write = async () => {
    for (let failures = 0; outcomes.length > 0 && !(isFlushing && failures >= MAX_FLUSH_ATTEMPTS); ) {
      await delay(failures === 0 ? BATCH_INTERVAL_MS : RETRY_MS);
      try {
        const batch = outcomes.slice(0, MAX_BATCH);
        await recordOutcomes(deps, batch);
        outcomes = outcomes.slice(batch.length);
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures === 1) deps.log.error({ err: error }, "could not store the outcomes of deliveries");
      }
    }
    writing = null;
  };
  return {
    add: (outcome: PushOutcome) => {
      outcomes.push(outcome);
      writing ??= write();
    },
    pending: (): readonly PushOutcome[] => outcomes,
    /** Resolves once the buffer has room for more outcomes. */
    waitForCapacity: async () => {
      while (outcomes.length > MAX_PENDING && !isFlushing) await delay(BATCH_INTERVAL_MS);
    },
    /** Resolves once all outcomes are stored; gives up after a few attempts while the database is unreachable. */
    flush: async () => {
      isFlushing = true;
      await writing;
    },
  };
}
