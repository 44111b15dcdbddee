/** Processes a queue in the background. */
export type Consumer = {
  /** Starts to process the rows that are due, and returns at once. */
  wake: () => void;
  /** Waits for the rows being processed. The rest stay in the queue. */
  close: () => Promise<void>;
};

type Options = {
  /** The number of rows that may be processed at the same time. */
  concurrency: number;
  /** Claims and processes one row. Returns false when no row is due. */
  processNext: () => Promise<boolean>;
  onError: (error: unknown) => void;
};

/** Creates a consumer. It processes nothing before the first `wake`. */
export function createConsumer({ concurrency, processNext, onError }: Options): Consumer {
  const running = new Set<Promise<void>>();
  let isWakeRequested = false;
  let isClosed = false;

  const drain = async () => {
    while (isWakeRequested) {
      isWakeRequested = false; // a later wake may be for a row that the last claim did not see
      while (!isClosed && (await processNext()));
    }
  };
  return {
    wake: () => {
      isWakeRequested = true;
      if (isClosed || running.size >= concurrency) return;
      const run = drain()
        .catch(onError)
        .finally(() => running.delete(run));
      running.add(run);
    },
    close: async () => {
      isClosed = true;
      await Promise.all(running);
    },
  };
}
