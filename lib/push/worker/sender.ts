import type { Context } from "../../context";
import { isLeaseExpired } from "../../platform/db/queue";
import { type ClaimedPush, claimDeliveries, databaseTime } from "./claim-deliveries";
import { deliver } from "./deliver";
import { maintainOutbox } from "./maintenance";
import { createOutcomeBuffer } from "./outcome-buffer";
import { createPauseState } from "./pause-state";

const MIN_LIMIT = 100;
/** A rate that no process exceeds. The limit lets it through at the measured latency (Little's law). */
const TARGET_PER_MS = 10;
/**
 * The limit uses the lowest latency of the current and the previous window, so that latency caused by this process's own
 * load does not count.
 */
const WINDOW_MS = 10_000;

/**
 * Creates a limit of the requests that wait for APNs at the same time. It follows the latency: 100 nearby, 600 at a round
 * trip of 60 ms, and never more than `max`. `elapsedMs` is a monotonic clock.
 */
export function createConcurrency(max: number, elapsedMs = () => performance.now()) {
  let startedAtMs = elapsedMs();
  let lowestMs = Number.POSITIVE_INFINITY;
  let lowestBeforeMs = Number.POSITIVE_INFINITY;
  let limit = Math.min(MIN_LIMIT, max);
  return {
    limit: () => limit,
    recordLatency: (ms: number) => {
      const now = elapsedMs();
      if (now - startedAtMs > WINDOW_MS) [startedAtMs, lowestBeforeMs, lowestMs] = [now, lowestMs, ms];
      if (ms < lowestMs) lowestMs = ms;
      const targetLimit = Math.ceil(Math.min(lowestMs, lowestBeforeMs) * TARGET_PER_MS);
      limit = Math.min(Math.max(targetLimit, MIN_LIMIT), max);
    },
  };
}

export type SenderDeps = Pick<Context, "config" | "count" | "db" | "dbNow" | "log" | "now" | "push" | "webPush">;
type ClaimedBatch = { rows: ClaimedPush[]; isFull: boolean };

const MIN_BATCH = 100;
const MAX_BATCH = 1_000;
/** A batch has this many times the deliveries that are sent at the same time, so that each starts soon after its claim. */
const BATCH_FACTOR = 10;

/** Creates a sender. While `isStopping`, deliveries that are claimed but not started are requeued. */
export function createSender(deps: SenderDeps, isStopping = () => false) {
  const { limit, recordLatency } = createConcurrency(deps.config.PUSH_CONCURRENCY);
  const outcomes = createOutcomeBuffer(deps);
  const deliverDeps = { ...deps, isStopping, recordLatency, pauses: createPauseState(deps) };
  const work = (row: ClaimedPush) => deliver(deliverDeps, row).then(outcomes.add);
  const dispatcher = createDispatcher(limit, work);
  let notBefore = new Date(0);
  /** The next batch, claimed while the last one starts, so that sending does not wait for the database. */
  let nextBatch: Promise<ClaimedBatch> | null = null;

  const claim = async (): Promise<ClaimedBatch> => {
    const batchSize = Math.min(Math.max(BATCH_FACTOR * limit(), MIN_BATCH), MAX_BATCH);
    const { deliveries, now } = await claimDeliveries(deps, { notBefore, limit: batchSize });
    if (now > notBefore) notBefore = now;
    return { rows: deliveries, isFull: deliveries.length === batchSize };
  };
  return {
    /** Claims due deliveries and starts to send them. Returns how many, once the last one has started. */
    claimAndSend: async () => {
      await outcomes.waitForCapacity();
      const claiming = nextBatch ?? claim();
      nextBatch = null;
      const { rows, isFull } = await claiming;
      if (isFull && !isStopping()) {
        nextBatch = claim();
        nextBatch.catch(() => {}); // the next call throws it
      }
      if (rows.length > 0) await dispatcher.start(rows);
      return rows.length;
    },
    /** Maintains the outbox, unless that would requeue deliveries whose outcomes this worker has yet to store. */
    maintain: async () => {
      const now = deps.now();
      const isExpired = (row: ClaimedPush) => isLeaseExpired(row.leaseUntil, databaseTime(row, now));
      if (!outcomes.pending().some(({ row }) => isExpired(row))) await maintainOutbox(deps);
    },
    /** Resolves once every started delivery has ended and its outcome is stored. */
    finish: async () => {
      const { rows } = (await nextBatch?.catch(() => null)) ?? { rows: [] };
      if (rows.length > 0) await dispatcher.start(rows);
      await dispatcher.waitUntilIdle();
      await outcomes.flush();
    },
  };
}

/** Starts work on items, a limited number at the same time. `limit` is read before each item. */
function createDispatcher<Item>(limit: () => number, work: (item: Item) => Promise<void>) {
  let items: readonly Item[] = [];
  let next = 0;
  let running = 0;
  let onStarted = () => {};
  const onIdle: (() => void)[] = [];
  const end = () => {
    running -= 1;
    if (next < items.length) fill();
    else if (running === 0) for (const resolve of onIdle.splice(0)) resolve();
  };
  const fill = () => {
    while (next < items.length && running < limit()) {
      const item = items[next] as Item;
      next += 1;
      running += 1;
      void work(item).then(end, end);
    }
    if (next === items.length) onStarted();
  };
  return {
    /** Starts all items, in order. Resolves once the last one has started. Not to be called before that. */
    start: (given: readonly Item[]) => {
      [items, next] = [given, 0];
      return new Promise<void>((resolve) => {
        onStarted = resolve;
        fill();
      });
    },
    /** Resolves once no item is being worked on. */
    waitUntilIdle: async () => {
      if (running > 0) await new Promise<void>((resolve) => onIdle.push(resolve));
    },
  };
}
