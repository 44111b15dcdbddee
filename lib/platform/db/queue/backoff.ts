/**
 * Returns the seconds to wait after a number of failed attempts: the n-th delay after the n-th failure, the last delay
 * after every later one. `random`, from 0 to 1, takes off up to half of the delay, so that rows that failed together are
 * not retried together ("equal jitter": AWS Architecture Blog, "Exponential Backoff And Jitter"); 1 takes off nothing.
 */
export function backoffSeconds(delaysSeconds: readonly number[], failures: number, random = 1): number {
  const delaySeconds = delaysSeconds[Math.min(failures, delaysSeconds.length) - 1] ?? 0;
  return (delaySeconds / 2) * (1 + random);
}
