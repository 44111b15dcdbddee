import type { Context } from "../../context";

type Answer = Awaited<ReturnType<NonNullable<Context["push"]>["send"]>>;
/** What came of a send: APNs's answer, or none. */
export type ApnsResult = Answer | { status: null; reason: "timeout" | "unreachable" };

/**
 * What to do about it. `fail`: never again, and what that says of the device: `gone` holds unless the app has
 * registered again since, `doubtful` unless too many are said to be. `pause`: nothing more to this environment.
 */
export type ResultAction =
  | { step: "sent" }
  | { step: "fail"; device: "kept" | "gone" | "doubtful" }
  | ({ step: "retry" } & Delays)
  | { step: "pause"; seconds: number };

/** How long before each attempt; `retryAfterSeconds` is what APNs asked for. */
type Delays = { delaysSeconds: readonly number[]; retryAfterSeconds?: number };

const MINUTE = 60;
const HOUR = 60 * MINUTE;
export const MAX_ATTEMPTS = 8;
/** So often APNs's Retry-After shortens a delay. After that it cannot: eight attempts must outlast an outage. */
const MAX_SHORTENED_DELAYS = 3;
/** A Retry-After of 0, or a date that has passed by this machine's clock, does not bring the same row back at once. */
const MIN_RETRY_AFTER_SECONDS = 5;
const MAX_RETRY_AFTER_SECONDS = 2 * HOUR;

const TOO_MANY_REQUESTS_DELAYS_SECONDS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];
const SERVER_ERROR_DELAYS_SECONDS = [15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR];
const UNREACHABLE_DELAYS_SECONDS = [5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];

/** A provider token that APNs does not take: somebody has to set the service right. */
const PROVIDER_TOKEN_PAUSE_SECONDS = 5 * MINUTE;
/** A provider token may be made anew every 20 minutes (Apple, "Establishing a token-based connection to APNs"). */
const TOKEN_UPDATES_PAUSE_SECONDS = 20 * MINUTE;
/** Too many devices said to be unknown. */
export const CIRCUIT_BREAKER_PAUSE_SECONDS = 15 * MINUTE;

/** What an answer means (Apple, "Handling notification responses from APNs", tables 4 to 6). */
export function classifyResult(told: ApnsResult): ResultAction {
  const { status, reason } = told;
  if (status === null) return { step: "retry", delaysSeconds: UNREACHABLE_DELAYS_SECONDS };
  const { retryAfterSeconds } = told;
  if (status === 200) return { step: "sent" };
  if (status === 410) return { step: "fail", device: "gone" };
  if (status === 400 && (reason === "BadDeviceToken" || reason === "DeviceTokenNotForTopic"))
    return { step: "fail", device: "doubtful" };
  if (status === 403) return { step: "pause", seconds: PROVIDER_TOKEN_PAUSE_SECONDS };
  if (status === 429 && reason === "TooManyProviderTokenUpdates")
    return { step: "pause", seconds: TOKEN_UPDATES_PAUSE_SECONDS };
  if (status === 429) return { step: "retry", delaysSeconds: TOO_MANY_REQUESTS_DELAYS_SECONDS, retryAfterSeconds };
  if (status >= 400 && status < 500) return { step: "fail", device: "kept" };
  return { step: "retry", delaysSeconds: SERVER_ERROR_DELAYS_SECONDS, retryAfterSeconds };
}

/** A row as far as its next attempt goes; `attempts` is how many were made before this one. */
type DeliveryAttempts = { attempts: number; expiresAt: Date };

/**
 * When to try again: half of the delay at least, the other half by chance, so that what failed together does not come
 * back together, and no outage of an hour uses up eight attempts. Never before APNs's Retry-After, and soon after it
 * the first times. null: that was the last attempt, or the next would come after the expiry. `random` is from 0 to 1.
 */
export function nextAttempt(
  { delaysSeconds, retryAfterSeconds }: Delays,
  { attempts, expiresAt }: DeliveryAttempts,
  now: Date,
  random: number,
): Date | null {
  if (attempts + 1 >= MAX_ATTEMPTS) return null;
  const usualSeconds = ((delaysSeconds[Math.min(attempts, delaysSeconds.length - 1)] ?? 0) / 2) * (1 + random);
  const boundedSeconds = Math.min(Math.max(retryAfterSeconds ?? 0, MIN_RETRY_AFTER_SECONDS), MAX_RETRY_AFTER_SECONDS);
  const askedSeconds = retryAfterSeconds === undefined ? 0 : boundedSeconds * (1 + random / 2);
  const isShortened = retryAfterSeconds !== undefined && attempts < MAX_SHORTENED_DELAYS;
  const at = new Date(now.getTime() + 1000 * (isShortened ? askedSeconds : Math.max(usualSeconds, askedSeconds)));
  return at < expiresAt ? at : null;
}
