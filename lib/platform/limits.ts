const MINUTE_MS = 60 * 1000;
/** What ends this much later than if it began now was stored before a clock was set back. */
export const MAX_CLOCK_DIFFERENCE_MS = MINUTE_MS;
/** The maximum number of windows in memory. Beyond it, the oldest are removed. */
const MAX_WINDOWS_IN_MEMORY = 100_000;

/** Uses of the key of a limit, and the length of the limit's window. A negative number is a refund. */
export type Use = { key: string; uses: number; seconds: number };
/** The uses in the key's window so far, with this one, and the time until the window ends. */
export type Count = { uses: number; remainingMs: number };

/** Counts the uses of keys in this process, by its clock: in windows that start with a key's first use. */
export function createMemoryCounter(now: () => Date): (use: Use) => Count {
  const windows = new Map<string, { uses: number; endsAt: number }>();
  return ({ key, uses, seconds }) => {
    const at = now().getTime();
    const endsAt = at + seconds * 1000;
    let window = windows.get(key);
    if (!window || window.endsAt <= at || window.endsAt > endsAt) {
      windows.delete(key); // a new window goes to the end of the map, whose first entries are the oldest
      window = { uses: 0, endsAt };
      windows.set(key, window);
      const [oldest] = windows.keys();
      if (windows.size > MAX_WINDOWS_IN_MEMORY && oldest !== undefined) windows.delete(oldest);
    }
    window.uses += uses;
    return { uses: window.uses, remainingMs: window.endsAt - at };
  };
}

/** `freeFailures` need no wait. Each further one doubles the wait, from one minute to `maxWaitMinutes`. */
export type WaitRule = { freeFailures: number; maxWaitMinutes: number };

/** How long the next attempt has to wait after a number of failures. */
export function waitMs(failures: number, { freeFailures, maxWaitMinutes }: WaitRule): number {
  if (failures < freeFailures) return 0;
  return Math.min(maxWaitMinutes, 2 ** (failures - freeFailures)) * MINUTE_MS;
}
