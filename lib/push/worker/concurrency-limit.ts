/** Limits how many operations run at the same time. */
export type ConcurrencyLimit = {
  /** Waits for a free slot, first come, first served. */
  acquire: () => Promise<void>;
  release: () => void;
  waitUntilIdle: () => Promise<void>;
};

/** Creates a limit of `max` operations at the same time. */
export function createConcurrencyLimit(max: number): ConcurrencyLimit {
  let running = 0;
  const waiting: (() => void)[] = [];
  const idle: (() => void)[] = [];
  return {
    acquire: async () => {
      if (running >= max) return new Promise((resolve) => waiting.push(resolve)); // `release` hands its slot over
      running += 1;
    },
    release: () => {
      const next = waiting.shift();
      if (next) return next();
      running -= 1;
      if (running === 0) for (const resolve of idle.splice(0)) resolve();
    },
    waitUntilIdle: async () => {
      if (running > 0) await new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}
