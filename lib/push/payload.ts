import type { PushDevice, PushMessage, QueuedPush } from "../platform/db/generated/client";
import { NIL_ID } from "../platform/db/ids";
import {
  composeLiveActivity,
  findTranslation,
  isLiveActivityMessage,
  type LiveActivityTarget,
  type Translation,
  toText,
} from "./messages";
import { type KindOptions, type Message, optionsOf, optionsOfKind } from "./notifications";
import type { LiveActivityRecipient } from "./outbox/live-activities";

/** APNs rejects larger payloads (Apple, "Generating a remote notification"). Push services need not take more, either. */
export const MAX_PAYLOAD_BYTES = 4096;

/** The stored payload. The deliveries of a message share it, so that `data.id` is added to each when it is sent. */
type Payload = {
  aps: object;
  data: Record<string, string | number>;
  /** The alert in other languages, by tag in lower case. A device is sent one of them. */
  translations?: Record<string, Translation>;
};

/** The stored payload for Live Activities. Only `aps` is sent. */
type LiveActivityPayload = { aps: object; liveActivity: LiveActivityTarget };

/**
 * What the deliveries of a message share, prepared once. `body` returns the payload of one of them as JSON, in the language
 * of its device's locale.
 */
export type PreparedMessage = Pick<PushMessage, "kind" | "priority" | "collapseId"> & {
  isCanceled: boolean;
  /** Whether the event that it tells of is no longer true. */
  isOutdated: boolean;
  /** null: it is not for Live Activities. */
  liveActivity: LiveActivityTarget | null;
  body: (id: string, locale: string | null) => string;
};

/** A delivery with its message and its device's current state. */
export type Outgoing = Pick<QueuedPush, "id" | "deviceId" | "messageId" | "expiresAt"> &
  Pick<PushDevice, "token" | "environment" | "bundleId" | "status" | "locale"> & {
    message: PreparedMessage;
    /** null: it goes to the device's own token. */
    liveActivity: LiveActivityRecipient | null;
  };

export function prepareMessage(
  stored: Pick<PushMessage, "kind" | "priority" | "collapseId" | "payload"> & {
    isCanceled?: boolean;
    isOutdated?: boolean;
  },
): PreparedMessage {
  const { payload, isCanceled = false, isOutdated = false, ...columns } = stored;
  const { liveActivity = null, aps } = payload as Partial<LiveActivityPayload>;
  const text = liveActivity && JSON.stringify({ aps });
  return { ...columns, isCanceled, isOutdated, liveActivity, body: text ? () => text : bodyOf(payload as Payload) };
}

function bodyOf({ translations, ...payload }: Payload): PreparedMessage["body"] {
  const standard = fillIn(payload);
  if (!translations) return standard;
  const { aps, data } = payload;
  const translated = new Map(
    Object.entries(translations).map(([tag, alert]) => [tag, fillIn({ aps: { ...aps, alert }, data })]),
  );
  return (id, locale) => {
    const tag = findTranslation(translated, locale);
    return ((tag !== null && translated.get(tag)) || standard)(id);
  };
}

/** Returns what inserts a delivery's id into a payload. */
function fillIn({ aps, data }: Payload): (id: string) => string {
  const text = JSON.stringify({ aps, data: { ...data, id: NIL_ID } });
  const at = text.lastIndexOf(NIL_ID); // the id is last
  const [before, after] = [text.slice(0, at), text.slice(at + NIL_ID.length)];
  return (id) => before + id + after;
}

/**
 * Returns the columns that depend on a message, and the status of the devices that receive it.
 * @throws RangeError for a payload over 4,096 bytes in any language; only what operators write can reach that
 */
export function composeNotification(message: Message) {
  const options = optionsOf(message);
  const payload = payloadOf(message, options);
  const stored = {
    kind: message.kind,
    priority: priorityOf(message, options),
    collapseId: options.collapseId(message),
  };
  const { body } = prepareMessage({ ...stored, payload });
  const languages = [null, ...("translations" in payload ? Object.keys(payload.translations ?? {}) : [])];
  const sizeBytes = Math.max(...languages.map((language) => Buffer.byteLength(body(NIL_ID, language))));
  if (sizeBytes > MAX_PAYLOAD_BYTES)
    throw new RangeError(
      `${message.kind}: the payload has ${sizeBytes} bytes; APNs accepts ${MAX_PAYLOAD_BYTES}, which is ${sizeBytes - MAX_PAYLOAD_BYTES} less`,
    );
  return {
    ...stored,
    payload,
    recipientStatus: options.recipientStatus,
    liveActivity: "liveActivity" in payload ? payload.liveActivity : null,
    queuePriority: options.queuePriority,
    ttlSeconds: ("ttlSeconds" in message && message.ttlSeconds) || options.ttlSeconds,
  };
}

function payloadOf(message: Message, options: KindOptions<Message>): Payload | LiveActivityPayload {
  if (isLiveActivityMessage(message)) return composeLiveActivity(message);
  return {
    aps: apsOf(message, options),
    data: { v: 1, kind: message.kind, ...options.data(message) },
    ...translationsOf(message),
  };
}

function priorityOf(message: Message, { priority }: KindOptions<Message>): number {
  if (isLiveActivityMessage(message)) return message.priority ?? priority;
  return "interruptionLevel" in message && message.interruptionLevel === "passive" ? 5 : priority;
}

function translationsOf(message: Message): Pick<Payload, "translations"> {
  if (!("translations" in message) || !message.translations) return {};
  const texts = Object.entries(message.translations).map(([tag, text]) => [tag, toText(text)] as const);
  return { translations: Object.fromEntries(texts) };
}

/** `apns-push-type` of the levels that are not alerts. */
const PUSH_TYPES: Partial<Record<KindOptions<Message>["level"], "background" | "liveactivity">> = {
  background: "background",
  live_activity: "liveactivity",
};

/** Returns the notification for a delivery through APNs. */
export function toNotification(row: Outgoing) {
  const { id, token, bundleId, expiresAt, locale, message } = row;
  const environment = row.environment === "sandbox" ? ("sandbox" as const) : ("production" as const);
  const { kind, priority, collapseId } = message;
  const { level = "background" } = optionsOfKind(kind) ?? {};
  const pushType = PUSH_TYPES[level] ?? ("alert" as const);
  const body = message.body(id, locale);
  return { id, token, environment, bundleId, pushType, priority, collapseId, expiresAt, body };
}

function apsOf<M extends Message>(message: M, { level, alert, aps }: KindOptions<M>): object {
  if (!alert) return { "content-available": 1 };
  const [thread] = message.kind.split(".");
  const sound = level === "passive" ? {} : { sound: "default" };
  return { alert: alert(message), ...sound, "thread-id": thread, "interruption-level": level, ...aps?.(message) };
}
