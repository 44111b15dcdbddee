import type { Context } from "../../context";
import { backoffSeconds } from "../../db/queue/backoff";

export type ApnsResponse = Awaited<ReturnType<NonNullable<Context["push"]>["send"]>>;
/** APNs's response to a notification, or why there was none. */
export type ApnsResult = ApnsResponse | { status: null; reason: "timeout" | "unreachable" };

/**
 * What to do with a delivery. `fail` also says what the result means for the device: `unregistered` invalidates it
 * unless the app has registered since; `rejected` does so too, unless the circuit breaker opens. `pause` stops all
 * deliveries to the environment.
 */
export type ResultAction =
  | { action: "sent" }
  | { action: "fail"; device: "unaffected" | "unregistered" | "rejected" }
  | ({ action: "retry" } & RetryDelays)
  | { action: "pause"; seconds: number };

/** The delay before each attempt. `retryAfterSeconds` is APNs's Retry-After. */
type RetryDelays = { delaysSeconds: readonly number[]; retryAfterSeconds?: number };

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

/** APNs rejects the provider token: an operator has to correct the configuration. */
const PROVIDER_TOKEN_PAUSE_SECONDS = 5 * MINUTE;
/** A provider token may be renewed every 20 minutes (Apple, "Establishing a token-based connection to APNs"). */
const TOKEN_UPDATES_PAUSE_SECONDS = 20 * MINUTE;
export const CIRCUIT_BREAKER_PAUSE_SECONDS = 15 * MINUTE;

/** Returns what a result means for its delivery (Apple, "Handling notification responses from APNs", tables 4 to 6). */
export function classifyResult(result: ApnsResult): ResultAction {
  const { status, reason } = result;
  if (status === null) return { action: "retry", delaysSeconds: UNREACHABLE_DELAYS_SECONDS };
  const { retryAfterSeconds } = result;
  if (status === 200) return { action: "sent" };
  if (status === 410) return { action: "fail", device: "unregistered" };
  if (status === 400 && (reason === "BadDeviceToken" || reason === "DeviceTokenNotForTopic"))
    return { action: "fail", device: "rejected" };
  if (status === 403) return { action: "pause", seconds: PROVIDER_TOKEN_PAUSE_SECONDS };
  if (status === 429 && reason === "TooManyProviderTokenUpdates")
    return { action: "pause", seconds: TOKEN_UPDATES_PAUSE_SECONDS };
  if (status === 429) return { action: "retry", delaysSeconds: TOO_MANY_REQUESTS_DELAYS_SECONDS, retryAfterSeconds };
  if (status >= 400 && status < 500) return { action: "fail", device: "unaffected" };
  return { action: "retry", delaysSeconds: SERVER_ERROR_DELAYS_SECONDS, retryAfterSeconds };
}

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
