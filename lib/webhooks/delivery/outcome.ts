import { backoffSeconds } from "../../db/queue/backoff";
import type { PostResult } from "../../outbound/post";

/** Standard Webhooks 1.0.0, "Sending reliability": the delays after the first attempt and each further one. */
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const RETRY_DELAYS_SECONDS = [
  ...[5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
] as const;
const MAX_RETRY_AFTER_SECONDS = 24 * HOUR;
/** An endpoint that has failed for this long, without a success, is disabled. */
const MAX_FAILING_MS = 5 * 24 * HOUR * 1000;
/** The statuses whose Retry-After counts. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503]);
/** "The endpoint is gone": the receiver asks for no more. */
const GONE = 410;

export type Outcome = {
  state: "delivered" | "pending" | "failed";
  /** Until the next attempt; null without one. */
  delaySeconds: number | null;
  /** Why the endpoint is disabled; null if it is not. */
  disable: "gone" | "failing" | null;
};

/** Decides what follows from an attempt. `random` is from 0 to 1; less than 1 makes the delay up to a tenth shorter. */
export function outcomeOf(
  { status, retryAfterSeconds }: Pick<PostResult, "status" | "retryAfterSeconds">,
  { attempts, failingSince, now, random }: { attempts: number; failingSince: Date | null; now: Date; random: number },
): Outcome {
  if (status !== null && status >= 200 && status < 300)
    return { state: "delivered", delaySeconds: null, disable: null };
  if (status === GONE) return { state: "failed", delaySeconds: null, disable: "gone" };
  const isFailing = failingSince !== null && now.getTime() - failingSince.getTime() >= MAX_FAILING_MS;
  const disable = isFailing ? "failing" : null;
  if (attempts > RETRY_DELAYS_SECONDS.length) return { state: "failed", delaySeconds: null, disable };
  const scheduled = backoffSeconds(RETRY_DELAYS_SECONDS, attempts, 0.8 + 0.2 * random);
  const asked = status !== null && BUSY_STATUSES.has(status) ? (retryAfterSeconds ?? 0) : 0;
  const delaySeconds = Math.ceil(Math.max(scheduled, Math.min(asked, MAX_RETRY_AFTER_SECONDS)));
  return { state: "pending", delaySeconds, disable };
}
