import type { PushResult, ResultAction } from "../push-result";
import {
  SERVER_ERROR_DELAYS_SECONDS,
  TOO_MANY_REQUESTS_DELAYS_SECONDS,
  UNREACHABLE_DELAYS_SECONDS,
} from "../retry-delays";

/**
 * Returns what a push service's response means for its delivery (RFC 8030, sections 5 to 8). Nothing pauses: a response
 * says nothing about other push services, and a client that made up an endpoint may get any.
 */
export function classifyWebPushResult(result: PushResult): ResultAction {
  const { status } = result;
  if (status === null && result.reason === "EndpointNotAllowed") return { action: "fail", device: "unaffected" };
  if (status === null) return { action: "retry", delaysSeconds: UNREACHABLE_DELAYS_SECONDS };
  const { retryAfterSeconds } = result;
  if (status >= 200 && status < 300) return { action: "sent" };
  if (status === 404 || status === 410) return { action: "fail", device: "unregistered" };
  if (status === 429) return { action: "retry", delaysSeconds: TOO_MANY_REQUESTS_DELAYS_SECONDS, retryAfterSeconds };
  if (status >= 500) return { action: "retry", delaysSeconds: SERVER_ERROR_DELAYS_SECONDS, retryAfterSeconds };
  return { action: "fail", device: "unaffected" };
}
