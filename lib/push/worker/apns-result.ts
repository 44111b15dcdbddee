import type { PushResult, ResultAction } from "../push-result";
import {
  SERVER_ERROR_DELAYS_SECONDS,
  TOO_MANY_REQUESTS_DELAYS_SECONDS,
  UNREACHABLE_DELAYS_SECONDS,
} from "../retry-delays";

const MINUTE = 60;

/** APNs rejects the provider token: an operator has to correct the configuration. */
const PROVIDER_TOKEN_PAUSE_SECONDS = 5 * MINUTE;
/** A provider token may be renewed every 20 minutes (Apple, "Establishing a token-based connection to APNs"). */
const TOKEN_UPDATES_PAUSE_SECONDS = 20 * MINUTE;
export const CIRCUIT_BREAKER_PAUSE_SECONDS = 15 * MINUTE;

/** Returns what a result means for its delivery (Apple, "Handling notification responses from APNs", tables 4 to 6). */
export function classifyApnsResult(result: PushResult): ResultAction {
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
