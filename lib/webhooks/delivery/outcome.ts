import type { PostResult } from "../../platform/outbound/post";
import { retryDelaySeconds } from "./retry-delays";

/** An endpoint that has failed for this long, without a success, is disabled: five days. */
const MAX_FAILING_MS = 5 * 24 * 60 * 60 * 1000;
/** "The endpoint is gone": the receiver asks for no more (Standard Webhooks 1.0.0). */
const GONE = 410;

export type AttemptOutcome = {
  state: "delivered" | "pending" | "failed";
  /** Until the next attempt; null without one. */
  delaySeconds: number | null;
  /** Why the endpoint is disabled; null if it is not. */
  disable: "gone" | "failing" | null;
};

/** Decides what follows from an attempt. `random`, from 0 to 1, spreads the next attempts. */
export function outcomeOf(
  result: Pick<PostResult, "status" | "retryAfterSeconds">,
  { attempts, failingSince, now, random }: { attempts: number; failingSince: Date | null; now: Date; random: number },
): AttemptOutcome {
  const { status } = result;
  if (status !== null && status >= 200 && status < 300)
    return { state: "delivered", delaySeconds: null, disable: null };
  if (status === GONE) return { state: "failed", delaySeconds: null, disable: "gone" };
  const isFailing = failingSince !== null && now.getTime() - failingSince.getTime() >= MAX_FAILING_MS;
  const delaySeconds = retryDelaySeconds(result, { attempts, random });
  return { state: delaySeconds === null ? "failed" : "pending", delaySeconds, disable: isFailing ? "failing" : null };
}
