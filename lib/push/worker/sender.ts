import type { Context } from "../../context";
import { type ClaimedDelivery, claimDeliveries, databaseTime } from "./claim";
import { createConcurrencyLimit } from "./concurrency-limit";
import { deliver } from "./deliver";
import { isLeaseExpired, maintainOutbox } from "./maintenance";
import { createOutcomeBuffer } from "./outcome-buffer";
import { createPauseState } from "./pause-state";

export type SenderDeps = Pick<Context, "config" | "count" | "db" | "dbNow" | "log" | "now"> & {
  push: NonNullable<Context["push"]>;
};
export type Sender = {
  /** Takes rows that are due and puts them on their way. Resolves to how many, once the last has been begun. */
  claimAndSend: () => Promise<number>;
  /** Does what has to be done from time to time, unless that freed rows which were sent and are not written down yet. */
  maintain: () => Promise<void>;
  /** Resolves once everything that was begun has ended and is written down. */
  finish: () => Promise<void>;
};

const BATCH = 500;

/** Sends outbox rows, so many at once. When `isStopping`, rows that were taken but not begun are given back. */
export function createSender(deps: SenderDeps, isStopping = () => false): Sender {
  const slots = createConcurrencyLimit(deps.config.PUSH_CONCURRENCY);
  const ledger = createOutcomeBuffer(deps);
  const tools = { ...deps, isStopping, channels: createPauseState(deps) };
  let notBefore = new Date(0);
  /** The next batch, taken while the one before is being begun, so that nothing waits for the database. */
  let ahead: Promise<ClaimedDelivery[]> | null = null;

  const claim = async () => {
    const { rows, now } = await claimDeliveries(deps, { notBefore, most: BATCH });
    if (now > notBefore) notBefore = now;
    return rows;
  };
  const begin = async (rows: readonly ClaimedDelivery[]) => {
    for (const row of rows) {
      await slots.acquire();
      void deliver(tools, row).then(ledger.add).finally(slots.release);
    }
  };
  return {
    claimAndSend: async () => {
      await ledger.waitForCapacity();
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
    maintain: async () => {
      const now = deps.now();
      if (!ledger.pending().some(({ row }) => isLeaseExpired(row, databaseTime(row, now)))) await maintainOutbox(deps);
    },
    finish: async () => {
      await begin((await ahead?.catch(() => [])) ?? []);
      await slots.waitUntilIdle();
      await ledger.flush();
    },
  };
}
