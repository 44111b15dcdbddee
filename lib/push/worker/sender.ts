import type { Context } from "../../context";
import { isLeaseExpired } from "../../db/queue/lease";
import { type ClaimedDelivery, claimDeliveries, databaseTime } from "./claim";
import { createConcurrencyLimit } from "./concurrency-limit";
import { deliver } from "./deliver";
import { maintainOutbox } from "./maintenance";
import { createOutcomeBuffer } from "./outcome-buffer";
import { createPauseState } from "./pause-state";

export type SenderDeps = Pick<Context, "config" | "count" | "db" | "dbNow" | "log" | "now"> & {
  push: NonNullable<Context["push"]>;
};
export type Sender = {
  /** Claims due deliveries and starts to send them. Returns how many, once the last one has started. */
  claimAndSend: () => Promise<number>;
  /** Maintains the outbox, unless that would requeue deliveries whose outcomes this worker has yet to store. */
  maintain: () => Promise<void>;
  /** Resolves once every started delivery has ended and its outcome is stored. */
  finish: () => Promise<void>;
};

const MAX_BATCH = 500;

/** Creates a sender. While `isStopping`, deliveries that are claimed but not started are requeued. */
export function createSender(deps: SenderDeps, isStopping = () => false): Sender {
  const limit = createConcurrencyLimit(deps.config.PUSH_CONCURRENCY);
  const outcomes = createOutcomeBuffer(deps);
  const deliverDeps = { ...deps, isStopping, pauses: createPauseState(deps) };
  let notBefore = new Date(0);
  /** The next batch, claimed while the last one starts, so that sending does not wait for the database. */
  let nextBatch: Promise<ClaimedDelivery[]> | null = null;

  const claim = async () => {
    const { deliveries, now } = await claimDeliveries(deps, { notBefore, limit: MAX_BATCH });
    if (now > notBefore) notBefore = now;
    return deliveries;
  };
  const start = async (rows: readonly ClaimedDelivery[]) => {
    for (const row of rows) {
      await limit.acquire();
      void deliver(deliverDeps, row).then(outcomes.add).finally(limit.release);
    }
  };
  return {
    claimAndSend: async () => {
      await outcomes.waitForCapacity();
      const claiming = nextBatch ?? claim();
      nextBatch = null;
      const rows = await claiming;
      if (rows.length === MAX_BATCH && !isStopping()) {
        nextBatch = claim();
        nextBatch.catch(() => {}); // the next call throws it
      }
      await start(rows);
      return rows.length;
    },
    maintain: async () => {
      const now = deps.now();
      const isExpired = ({ leaseUntil, requestedAt }: ClaimedDelivery) =>
        isLeaseExpired(leaseUntil, databaseTime({ leaseUntil, requestedAt }, now));
      if (!outcomes.pending().some(({ row }) => isExpired(row))) await maintainOutbox(deps);
    },
    finish: async () => {
      await start((await nextBatch?.catch(() => [])) ?? []);
      await limit.waitUntilIdle();
      await outcomes.flush();
    },
  };
}
