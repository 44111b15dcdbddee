import { HomeportError, retryAfterSeconds } from "./problem.js";

const MAX_WAIT_SECONDS = 10;
const FIRST_BACKOFF_MS = 300;
/** The statuses of a gateway or a service that is starting, busy or without its database. */
const UNAVAILABLE = [502, 503, 504];

export type RetryPolicy = {
  maxRetries: number;
  /** Whether the request may arrive twice (RFC 9110, section 9.2.2), or has an `Idempotency-Key`. */
  isRepeatable: boolean;
  wait: (ms: number) => Promise<void>;
};

/**
 * Sends a request until it succeeds or a retry is pointless. A 429 was not processed, so any request is repeated after it.
 * Waits as `Retry-After` says; a wait of more than ten seconds is the caller's, who gets the response.
 */
export async function withRetries(send: () => Promise<Response>, policy: RetryPolicy): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    const outcome = await send().catch((error: unknown) => {
      if (isNetworkError(error)) return error;
      throw error;
    });
    const waitMs = attempt < policy.maxRetries ? retryDelayMs(outcome, attempt, policy.isRepeatable) : undefined;
    if (waitMs === undefined) {
      if (outcome instanceof Response) return outcome;
      throw outcome;
    }
    if (outcome instanceof Response) await outcome.body?.cancel();
    await policy.wait(waitMs);
  }
}

/** How long to wait before the next attempt, in milliseconds; undefined if there must be none. */
function retryDelayMs(outcome: Response | HomeportError, attempt: number, isRepeatable: boolean): number | undefined {
  const backoffMs = Math.random() * FIRST_BACKOFF_MS * 2 ** attempt; // full jitter
  if (outcome instanceof HomeportError) return isRepeatable ? backoffMs : undefined;
  const seconds = retryAfterSeconds(outcome.headers);
  const isRefused = outcome.status === 429 && seconds !== undefined;
  const canRepeat = isRefused || (isRepeatable && UNAVAILABLE.includes(outcome.status));
  if (!canRepeat || (seconds ?? 0) > MAX_WAIT_SECONDS) return undefined;
  return seconds === undefined ? backoffMs : seconds * 1000;
}

const isNetworkError = (error: unknown): error is HomeportError =>
  error instanceof HomeportError && error.code === "network_error";
