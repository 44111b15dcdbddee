import type { EndpointNotAllowed, PushResponse } from "../context";
import type { RetryDelays } from "./retry-delays";

/** The response to a notification, or why there was none. */
export type PushResult = PushResponse | EndpointNotAllowed | { status: null; reason: "timeout" | "unreachable" };

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
