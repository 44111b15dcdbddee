import type { PushDevice, PushMessage, QueuedPush } from "../db/generated/client";
import { type KindOptions, type Message, optionsOf, optionsOfKind } from "./notifications";

/** APNs rejects larger payloads (Apple, "Generating a remote notification"). */
const MAX_PAYLOAD_BYTES = 4096;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

/** The stored payload. The deliveries of a message share it, so that `data.id` is added to each when it is sent. */
type Payload = { aps: object; data: Record<string, string | number> };

/** What the deliveries of a message share, prepared once. `body` returns the payload of one of them as JSON. */
export type PreparedMessage = Pick<PushMessage, "kind" | "priority" | "collapseId"> & {
  isCanceled: boolean;
  body: (id: string) => string;
};

/** A delivery with its message and its device's current state. */
export type Outgoing = Pick<QueuedPush, "id" | "deviceId" | "messageId" | "expiresAt"> &
  Pick<PushDevice, "token" | "environment" | "bundleId" | "status"> & { message: PreparedMessage };

/** Prepares a stored message for its deliveries. */
export function prepareMessage(
  stored: Pick<PushMessage, "kind" | "priority" | "collapseId" | "payload"> & { isCanceled?: boolean },
): PreparedMessage {
  const { kind, priority, collapseId, payload, isCanceled = false } = stored;
  const text = JSON.stringify(withId(payload as Payload, NIL_ID));
  const at = text.lastIndexOf(NIL_ID); // the id is last
  const [before, after] = [text.slice(0, at), text.slice(at + NIL_ID.length)];
  return { kind, priority, collapseId, isCanceled, body: (id) => before + id + after };
}

/**
 * Returns the columns that depend on a message, and the status of the devices that receive it.
 * @throws RangeError for a payload over 4,096 bytes; only `custom` can reach that
 */
export function composeNotification(message: Message) {
  const options = optionsOf(message);
  const payload: Payload = {
    aps: apsOf(message, options),
    data: { v: 1, kind: message.kind, ...options.data(message) },
  };
  const sizeBytes = Buffer.byteLength(JSON.stringify(withId(payload, NIL_ID)));
  if (sizeBytes > MAX_PAYLOAD_BYTES)
    throw new RangeError(`${message.kind}: the payload has ${sizeBytes} bytes; APNs accepts ${MAX_PAYLOAD_BYTES}`);
  return {
    recipientStatus: options.recipientStatus,
    kind: message.kind,
    payload,
    priority: options.priority,
    queuePriority: options.queuePriority,
    collapseId: options.collapseId(message),
    ttlSeconds: options.ttlSeconds,
  };
}

/** Returns the notification for a delivery. */
export function toNotification(row: Outgoing) {
  const { id, token, environment, bundleId, expiresAt, message } = row;
  const { kind, priority, collapseId } = message;
  const { level = "background" } = optionsOfKind(kind) ?? {};
  const pushType = level === "background" ? ("background" as const) : ("alert" as const);
  return { id, token, environment, bundleId, pushType, priority, collapseId, expiresAt, body: message.body(id) };
}

function apsOf<M extends Message>(message: M, { level, alert }: KindOptions<M>): object {
  if (!alert) return { "content-available": 1 };
  const [thread] = message.kind.split(".");
  const sound = level === "passive" ? {} : { sound: "default" };
  return { alert: alert(message), ...sound, "thread-id": thread, "interruption-level": level };
}

/** The id is the last value in the JSON: `prepareMessage` relies on that. */
function withId({ aps, data }: Payload, id: string): Payload {
  return { aps, data: { ...data, id } };
}
