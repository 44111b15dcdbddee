import { backoffSeconds } from "../../platform/db/queue/backoff";
import type { PostResult } from "../../platform/outbound/post";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** The delays after the first attempt and each further one (Standard Webhooks 1.0.0, "Sending reliability"). */
const RETRY_DELAYS_SECONDS = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;
const MAX_RETRY_AFTER_SECONDS = 24 * HOUR;
/** The statuses whose Retry-After counts. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503]);

/**
 * Returns the seconds until the next attempt after one that failed; null if it was the last. `random` is from 0 to 1; less
 * than 1 makes the delay up to a tenth shorter.
 */
export function retryDelaySeconds(
  { status, retryAfterSeconds }: Pick<PostResult, "status" | "retryAfterSeconds">,
  { attempts, random }: { attempts: number; random: number },
): number | null {
  if (attempts > RETRY_DELAYS_SECONDS.length) return null;
  const scheduled = backoffSeconds(RETRY_DELAYS_SECONDS, attempts, 0.8 + 0.2 * random);
  const asked = status !== null && BUSY_STATUSES.has(status) ? (retryAfterSeconds ?? 0) : 0;
  return Math.ceil(Math.max(scheduled, Math.min(asked, MAX_RETRY_AFTER_SECONDS)));
}
