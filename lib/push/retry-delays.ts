import { backoffSeconds } from "../platform/db/queue";

/** The delay before each attempt. `retryAfterSeconds` is the response's Retry-After. */
export type RetryDelays = { delaysSeconds: readonly number[]; retryAfterSeconds?: number };

const MINUTE = 60;
const HOUR = 60 * MINUTE;
export const MAX_ATTEMPTS = 8;
/** A Retry-After may shorten this many delays. The attempts must outlast an outage. */
const MAX_SHORTENED_DELAYS = 3;
/** Applies to a Retry-After of 0, and to a date that has passed by this machine's clock. */
const MIN_RETRY_AFTER_SECONDS = 5;
const MAX_RETRY_AFTER_SECONDS = 2 * HOUR;

export const TOO_MANY_REQUESTS_DELAYS_SECONDS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];
export const SERVER_ERROR_DELAYS_SECONDS = [15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR];
export const UNREACHABLE_DELAYS_SECONDS = [5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];

/** `attempts` is the number of attempts before this one. */
type DeliveryAttempts = { attempts: number; expiresAt: Date };

/**
 * Returns when to try again: after half to all of the delay, so that eight attempts outlast an outage of an hour and
 * deliveries that failed together are not retried together. Never before a Retry-After, and soon after it the first
 * times. null after the last attempt, or if the next would come after the expiry. `random` is from 0 to 1.
 */
export function nextAttempt(
  { delaysSeconds, retryAfterSeconds }: RetryDelays,
  { attempts, expiresAt }: DeliveryAttempts,
  now: Date,
  random: number,
): Date | null {
  if (attempts + 1 >= MAX_ATTEMPTS) return null;
  const backoff = backoffSeconds(delaysSeconds, attempts + 1, random);
  const boundedSeconds = Math.min(Math.max(retryAfterSeconds ?? 0, MIN_RETRY_AFTER_SECONDS), MAX_RETRY_AFTER_SECONDS);
  const requestedSeconds = retryAfterSeconds === undefined ? 0 : boundedSeconds * (1 + random / 2);
  const isShortened = retryAfterSeconds !== undefined && attempts < MAX_SHORTENED_DELAYS;
  const seconds = isShortened ? requestedSeconds : Math.max(backoff, requestedSeconds);
  const at = new Date(now.getTime() + 1000 * seconds);
  return at < expiresAt ? at : null;
}
