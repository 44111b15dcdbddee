import type { Context } from "../../context";
import { attempt } from "./attempt";
import { openChannels } from "./channels";
import { type Claimed, claimDue, databaseTime } from "./claim";
import { openLedger } from "./ledger";
import { createSlots } from "./slots";
import { isAbandoned, sweepOutbox } from "./sweep";

export type SenderDeps = Pick<Context, "config" | "count" | "db" | "dbNow" | "log" | "now"> & {
  push: NonNullable<Context["push"]>;
};
export type Sender = {
  /** Takes rows that are due and puts them on their way. Resolves to how many, once the last has been begun. */
  take: () => Promise<number>;
  /** Does what has to be done from time to time, unless that freed rows which were sent and are not written down yet. */
  sweep: () => Promise<void>;
  /** Resolves once everything that was begun has ended and is written down. */
  finish: () => Promise<void>;
};

const BATCH = 500;

/** Sends outbox rows, so many at once. When `isStopping`, rows that were taken but not begun are given back. */
export function openSender(deps: SenderDeps, isStopping = () => false): Sender {
  const slots = createSlots(deps.config.PUSH_CONCURRENCY);
  const ledger = openLedger(deps);
  const tools = { ...deps, isStopping, channels: openChannels(deps) };
  let notBefore = new Date(0);
  /** The next batch, taken while the one before is being begun, so that nothing waits for the database. */
  let ahead: Promise<Claimed[]> | null = null;

  const claim = async () => {
    const { rows, now } = await claimDue(deps, { notBefore, most: BATCH });
    if (now > notBefore) notBefore = now;
    return rows;
  };
  const begin = async (rows: readonly Claimed[]) => {
    for (const row of rows) {
      await slots.take();
      void attempt(tools, row).then(ledger.add).finally(slots.free);
    }
  };
  return {
    take: async () => {
      await ledger.room();
      const claiming = ahead ?? claim();
      ahead = null;
      const rows = await claiming;
      if (rows.length === BATCH && !isStopping()) {
        ahead = claim();
        ahead.catch(() => {}); // it is heard of by the next take
      }
      await begin(rows);
      return rows.length;
    },
    sweep: async () => {
      const now = deps.now();
      if (!ledger.unwritten().some(({ row }) => isAbandoned(row, databaseTime(row, now)))) await sweepOutbox(deps);
    },
    finish: async () => {
      await begin((await ahead?.catch(() => [])) ?? []);
      await slots.allFree();
      await ledger.finish();
    },
  };
}
