import type { Context } from "../../context";

type Answer = Awaited<ReturnType<NonNullable<Context["push"]>["send"]>>;
/** What came of a send: APNs's answer, or none. */
export type Told = Answer | { status: null; reason: "timeout" | "unreachable" };

/**
 * What to do about it. `fail`: never again, and what that says of the device: `gone` holds unless the app has
 * registered again since, `doubtful` unless too many are said to be. `pause`: nothing more to this environment.
 */
export type Verdict =
  | { step: "sent" }
  | { step: "fail"; device: "kept" | "gone" | "doubtful" }
  | { step: "retry"; delaysSeconds: readonly number[] }
  | { step: "pause"; seconds: number };

const MINUTE = 60;
const HOUR = 60 * MINUTE;
export const ATTEMPTS_MOST = 8;

const WHEN_TOO_MANY = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];
const WHEN_APNS_FAILS = [15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR];
const WHEN_NOT_REACHED = [5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];

/** A provider token that APNs does not take: somebody has to set the service right. */
const PAUSE_REFUSED_SECONDS = 5 * MINUTE;
/** A provider token may be made anew every 20 minutes (Apple, "Establishing a token-based connection to APNs"). */
const PAUSE_TOKEN_UPDATES_SECONDS = 20 * MINUTE;
/** Too many devices said to be unknown. */
export const PAUSE_BREAKER_SECONDS = 15 * MINUTE;

/** What an answer means (Apple, "Handling notification responses from APNs", tables 4 to 6). */
export function judge({ status, reason }: Told): Verdict {
  if (status === null) return { step: "retry", delaysSeconds: WHEN_NOT_REACHED };
  if (status === 200) return { step: "sent" };
  if (status === 410) return { step: "fail", device: "gone" };
  if (status === 400 && (reason === "BadDeviceToken" || reason === "DeviceTokenNotForTopic"))
    return { step: "fail", device: "doubtful" };
  if (status === 403) return { step: "pause", seconds: PAUSE_REFUSED_SECONDS };
  if (status === 429 && reason === "TooManyProviderTokenUpdates")
    return { step: "pause", seconds: PAUSE_TOKEN_UPDATES_SECONDS };
  if (status === 429) return { step: "retry", delaysSeconds: WHEN_TOO_MANY };
  if (status >= 400 && status < 500) return { step: "fail", device: "kept" };
  return { step: "retry", delaysSeconds: WHEN_APNS_FAILS };
}

/** A row as far as its next attempt goes; `attempts` is how many were made before this one. */
type Tried = { attempts: number; expiresAt: Date };

/**
 * When to try again: half of the delay at least, the other half by chance, so that what failed together does not come
 * back together, and no outage of an hour uses up eight attempts. null: that was the last attempt, or the next would
 * come after the expiry. `random` is from 0 to 1.
 */
export function nextAttempt(
  delaysSeconds: readonly number[],
  { attempts, expiresAt }: Tried,
  now: Date,
  random: number,
): Date | null {
  if (attempts + 1 >= ATTEMPTS_MOST) return null;
  const delaySeconds = delaysSeconds[Math.min(attempts, delaysSeconds.length - 1)] ?? 0;
  const at = new Date(now.getTime() + delaySeconds * 500 * (1 + random));
  return at < expiresAt ? at : null;
}
