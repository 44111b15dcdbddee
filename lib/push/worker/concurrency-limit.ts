/** Lets so many things be under way at once. */
export type ConcurrencyLimit = {
  acquire: () => Promise<void>;
  release: () => void;
  waitUntilIdle: () => Promise<void>;
};

/** `take` waits until one of `most` slots is free, in the order of asking. */
export function createConcurrencyLimit(most: number): ConcurrencyLimit {
  let taken = 0;
  const asking: (() => void)[] = [];
  const idle: (() => void)[] = [];
  return {
    acquire: async () => {
      if (taken >= most) return new Promise((resolve) => asking.push(resolve)); // the slot is handed on
      taken += 1;
    },
    release: () => {
      const next = asking.shift();
      if (next) return next();
      taken -= 1;
      if (taken === 0) for (const wake of idle.splice(0)) wake();
    },
    waitUntilIdle: async () => {
      if (taken > 0) await new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}
