import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { type Outcome, settle } from "./settle";

type Deps = Pick<Context, "count" | "db" | "dbNow" | "log">;
export type Ledger = {
  add: (outcome: Outcome) => void;
  unwritten: () => readonly Outcome[];
  /** Resolves once so little is unwritten that more may be sent. */
  room: () => Promise<void>;
  /** Resolves once all is written; while the database is out of reach it gives up after a few tries. */
  finish: () => Promise<void>;
};

/** How long outcomes are gathered, so that many are written by one statement. */
const GATHER_MS = 20;
const STATEMENT_MOST = 1_000;
const UNWRITTEN_MOST = 4_000;
const RETRY_MS = 1_000;
const LAST_TRIES = 3;

/**
 * Writes outcomes down in batches, and keeps those that the database did not take until it does: what reached a
 * device must not go out again because the database was away.
 */
export function openLedger(deps: Deps): Ledger {
  let outcomes: Outcome[] = [];
  let writing: Promise<void> | null = null;
  let isFinishing = false;

  const writeBatch = async () => {
    const batch = outcomes.slice(0, STATEMENT_MOST);
    await settle(deps, batch);
    outcomes = outcomes.slice(batch.length);
  };
  const write = async () => {
    for (let failures = 0; outcomes.length > 0 && !(isFinishing && failures >= LAST_TRIES); ) {
      await delay(failures === 0 ? GATHER_MS : RETRY_MS);
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
    unwritten: () => outcomes,
    room: async () => {
      while (outcomes.length > UNWRITTEN_MOST && !isFinishing) await delay(GATHER_MS);
    },
    finish: async () => {
      isFinishing = true;
      await writing;
    },
  };
}
