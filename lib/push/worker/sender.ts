import type { Context } from "../../context";
import { attempt } from "./attempt";
import { openChannels } from "./channels";
import { claimDue } from "./claim";
import { openLedger } from "./ledger";
import { createSlots } from "./slots";

export type SenderDeps = Pick<Context, "config" | "count" | "db" | "log" | "now"> & {
  push: NonNullable<Context["push"]>;
};
export type Sender = {
  /** Takes rows that are due and puts them on their way. Resolves to how many, once the last has been begun. */
  take: () => Promise<number>;
  /** Resolves once everything that was begun has ended and is written down. */
  finish: () => Promise<void>;
};

const BATCH = 250;

/** Sends outbox rows, so many at once. When `isStopping`, rows that were taken but not begun are given back. */
export function openSender(deps: SenderDeps, isStopping = () => false): Sender {
  const slots = createSlots(deps.config.PUSH_CONCURRENCY);
  const ledger = openLedger(deps);
  const tools = { ...deps, isStopping, channels: openChannels(deps) };
  let dueAt = new Date(0);
  return {
    take: async () => {
      await ledger.room();
      const now = deps.now();
      if (now > dueAt) dueAt = now; // when the clock is set back, what was due stays due
      const rows = await claimDue(deps, { now, dueAt, most: BATCH });
      for (const row of rows) {
        await slots.take();
        void attempt(tools, row).then(ledger.add).finally(slots.free);
      }
      return rows.length;
    },
    finish: async () => {
      await slots.allFree();
      await ledger.finish();
    },
  };
}
