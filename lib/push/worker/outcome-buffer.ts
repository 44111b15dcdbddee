import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { type Outcome, recordOutcomes } from "./outcomes";

type Deps = Pick<Context, "count" | "db" | "dbNow" | "log">;
export type OutcomeBuffer = {
  add: (outcome: Outcome) => void;
  pending: () => readonly Outcome[];
  /** Resolves once so little is unwritten that more may be sent. */
  waitForCapacity: () => Promise<void>;
  /** Resolves once all is written; while the database is out of reach it gives up after a few tries. */
  flush: () => Promise<void>;
};

/** How long outcomes are gathered, so that many are written by one statement. */
const BATCH_INTERVAL_MS = 20;
const MAX_BATCH = 1_000;
const MAX_PENDING = 4_000;
const RETRY_MS = 1_000;
const MAX_FLUSH_ATTEMPTS = 3;

/**
 * Writes outcomes down in batches, and keeps those that the database did not take until it does: what reached a
 * device must not go out again because the database was away.
 */
export function createOutcomeBuffer(deps: Deps): OutcomeBuffer {
  let outcomes: Outcome[] = [];
  let writing: Promise<void> | null = null;
  let isFinishing = false;

  const writeBatch = async () => {
    const batch = outcomes.slice(0, MAX_BATCH);
    await recordOutcomes(deps, batch);
    outcomes = outcomes.slice(batch.length);
  };
  const write = async () => {
    for (let failures = 0; outcomes.length > 0 && !(isFinishing && failures >= MAX_FLUSH_ATTEMPTS); ) {
      await delay(failures === 0 ? BATCH_INTERVAL_MS : RETRY_MS);
      try {
        await writeBatch();
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures === 1) deps.log.error({ err: error }, "what became of notifications cannot be written down");
      }
    }
    writing = null;
  };
  return {
    add: (outcome) => {
      outcomes.push(outcome);
      writing ??= write();
    },
    pending: () => outcomes,
    waitForCapacity: async () => {
      while (outcomes.length > MAX_PENDING && !isFinishing) await delay(BATCH_INTERVAL_MS);
    },
    flush: async () => {
      isFinishing = true;
      await writing;
    },
  };
}
