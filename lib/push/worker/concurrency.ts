/** How many requests may wait for a response of APNs at the same time. */
export type Concurrency = { limit: () => number; recordLatency: (ms: number) => void };

const MIN_LIMIT = 100;
/** A rate that no process exceeds. The limit lets it through at the measured latency (Little's law). */
const TARGET_PER_MS = 10;
/**
 * The limit uses the lowest latency of the current and the previous window, so that latency caused by this process's own
 * load does not count.
 */
const WINDOW_MS = 10_000;

/**
 * Creates a limit that follows the latency of APNs: 100 nearby, 600 at a round trip of 60 ms, and never more than `max`.
 * `elapsedMs` is a monotonic clock.
 */
export function createConcurrency(max: number, elapsedMs = () => performance.now()): Concurrency {
  let startedAtMs = elapsedMs();
  let lowestMs = Number.POSITIVE_INFINITY;
  let lowestBeforeMs = Number.POSITIVE_INFINITY;
  let limit = Math.min(MIN_LIMIT, max);
  return {
    limit: () => limit,
    recordLatency: (ms) => {
      const now = elapsedMs();
      if (now - startedAtMs > WINDOW_MS) [startedAtMs, lowestBeforeMs, lowestMs] = [now, lowestMs, ms];
      if (ms < lowestMs) lowestMs = ms;
      const targetLimit = Math.ceil(Math.min(lowestMs, lowestBeforeMs) * TARGET_PER_MS);
      limit = Math.min(Math.max(targetLimit, MIN_LIMIT), max);
    },
  };
}
