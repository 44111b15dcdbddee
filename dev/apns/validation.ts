import type { IncomingHttpHeaders } from "node:http2";

/** A response with APNs's reason (Apple, "Handling error responses from Apple Push Notification service"). */
export type Rejection = { status: number; reason: string };
export const reject = (status: number, reason: string): Rejection => ({ status, reason });

const MAX_PAYLOAD_BYTES = 4096;
const MAX_COLLAPSE_ID_BYTES = 64;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const LIVE_ACTIVITY_SUFFIX = ".push-type.liveactivity";

const one = (headers: IncomingHttpHeaders, name: string) => {
  const value = headers[name];
  return typeof value === "string" ? value : "";
};

/** Returns why APNs would reject a notification to a device token (Apple, "Sending notification requests to APNs"), or null. */
export function validateNotification(
  headers: IncomingHttpHeaders,
  token: string,
  body: Buffer,
  bundleIds: readonly string[],
): Rejection | null {
  const [type, topic] = [one(headers, "apns-push-type"), one(headers, "apns-topic")];
  const isLiveActivity = type === "liveactivity";
  const bundleId = topic.endsWith(LIVE_ACTIVITY_SUFFIX) ? topic.slice(0, -LIVE_ACTIVITY_SUFFIX.length) : topic;
  const aps = parse(body)?.aps;
  const hasAps = typeof aps === "object" && aps !== null;
  const isAlert = hasAps && "alert" in aps;
  // In the order of Apple's table of reasons.
  const checks: [reason: string, isWrong: boolean][] = [
    ["BadCollapseId", Buffer.byteLength(one(headers, "apns-collapse-id")) > MAX_COLLAPSE_ID_BYTES],
    ["BadDeviceToken", token !== "" && !/^([0-9a-f]{2}){32,256}$/.test(token)],
    ["BadExpirationDate", !/^\d+$/.test(one(headers, "apns-expiration"))],
    ["BadMessageId", !UUID.test(one(headers, "apns-id"))],
    ["BadPriority", !isPriority(headers, type === "background" ? ["1", "5"] : ["1", "5", "10"])],
    ["BadTopic", topic !== "" && isLiveActivity !== (bundleId !== topic)],
    ["DeviceTokenNotForTopic", topic !== "" && !bundleIds.includes(bundleId)],
    ["InvalidPushType", !["alert", "background", "liveactivity"].includes(type)],
    ["InvalidPushType", hasAps && !isLiveActivity && isAlert !== (type === "alert")],
    ["MissingDeviceToken", token === ""],
    ["MissingTopic", topic === ""],
    ["PayloadEmpty", !hasAps],
  ];
  const [reason] = checks.find(([, isWrong]) => isWrong) ?? [];
  if (reason !== undefined) return reject(400, reason);
  return body.length > MAX_PAYLOAD_BYTES ? reject(413, "PayloadTooLarge") : null;
}

export function parse(body: Buffer): Record<string, unknown> | null {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

function isPriority(headers: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  return allowed.includes(one(headers, "apns-priority"));
}
