/** Starts work on items, a limited number at the same time. */
export type Dispatcher<Item> = {
  /** Starts all items, in order. Resolves once the last one has started. Not to be called before that. */
  start: (items: readonly Item[]) => Promise<void>;
  /** Resolves once no item is being worked on. */
  waitUntilIdle: () => Promise<void>;
};

/** Creates a dispatcher. `limit` is read before each item. */
export function createDispatcher<Item>(limit: () => number, work: (item: Item) => Promise<void>): Dispatcher<Item> {
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
    start: (given) => {
      [items, next] = [given, 0];
      return new Promise((resolve) => {
        onStarted = resolve;
        fill();
      });
    },
    waitUntilIdle: async () => {
      if (running > 0) await new Promise<void>((resolve) => onIdle.push(resolve));
    },
  };
}
