import pLimit from "p-limit";
import type { Logger } from "pino";
import { isConnectionLost } from "../database-errors";
import { perObject } from "../per-object";

const MAX_ITEMS = 200;
const MAX_BATCHES = 3;
/** How long items wait for a batch that is larger than theirs, which may be waiting for a lock. */
const MAX_WAIT_MS = 100;
/** The maximum number of items that are processed alone at the same time: other requests need connections, too. */
const MAX_ALONE = 8;

type Loggable = { log: Pick<Logger, "warn"> };

type Options<Deps, Item, Result> = {
  /**
   * Processes a batch in one statement or transaction. Returns the results in the order of the items. The result may be
   * the promise of `processAlone`, which calls `processOne`, for a few items at the same time.
   */
  processMany: (
    deps: Deps,
    items: readonly Item[],
    processAlone: (item: Item) => Promise<Result>,
  ) => Promise<readonly (Result | Promise<Result>)[]>;
  /** Processes one item of a batch that failed. */
  processOne: (deps: Deps, item: Item) => Promise<Result>;
};

type Waiting<Item, Result> = { item: Item; resolve: (result: Result | Promise<Result>) => void };

/**
 * Returns a function that processes one item, and batches the calls, because under load a statement and its commit cost
 * more than their rows. A batch has the items of one turn of the event loop, up to 200. While others run, a batch starts once
 * it is as large as the largest of them, and while three run it waits for the end of one: batches grow with the load, not
 * their number. A lone item is processed in the turn in which it arrives. If a batch fails, each of its items is processed
 * alone, so that an item that fails does not affect the others; if the connection was lost, all of them fail.
 */
export function batchWrite<Deps extends Loggable, Item, Result>(
  options: Options<Deps, Item, Result>,
): (deps: Deps, item: Item) => Promise<Result> {
  const queueOf = perObject((deps: Deps) => createQueue(deps, options));
  return (deps, item) => queueOf(deps)(item);
}

function createQueue<Deps extends Loggable, Item, Result>(
  deps: Deps,
  { processMany, processOne }: Options<Deps, Item, Result>,
) {
  const waiting: Waiting<Item, Result>[] = [];
  const running = new Set<Waiting<Item, Result>[]>();
  let isScheduled = false;
  let timer: NodeJS.Timeout | undefined;
  const limit = pLimit(MAX_ALONE);
  const processAlone = (item: Item) => limit(() => processOne(deps, item));

  const run = async (batch: Waiting<Item, Result>[]) => {
    running.add(batch);
    const items = batch.map(({ item }) => item);
    try {
      const results = await processMany(deps, items, processAlone);
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Result | Promise<Result>);
    } catch (error) {
      const isLost = isConnectionLost(error); // each item would wait for the database again
      if (!isLost) deps.log.warn({ err: error, items: batch.length }, "a batch failed: its items are processed alone");
      for (const { item, resolve } of batch) resolve(isLost ? Promise.reject(error) : processAlone(item));
    } finally {
      running.delete(batch);
      start();
    }
  };
  const canStart = (minItems: number) => waiting.length >= minItems && running.size < MAX_BATCHES;
  const start = (minItems?: number) => {
    isScheduled = false;
    const largest = () => Math.max(1, ...[...running].map(({ length }) => length)); // each that starts may be larger
    while (canStart(minItems ?? largest())) void run(waiting.splice(0, MAX_ITEMS));
    if (waiting.length > 0) timer ??= setTimeout(startAny, MAX_WAIT_MS);
    else stopTimer();
  };
  const startAny = () => {
    stopTimer();
    start(1);
  };
  const stopTimer = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  return (item: Item): Promise<Result> =>
    new Promise((resolve) => {
      waiting.push({ item, resolve });
      if (isScheduled) return;
      isScheduled = true;
      // setImmediate runs after all ready sockets have been read; process.nextTick would run after each of them.
      setImmediate(start);
    });
}
