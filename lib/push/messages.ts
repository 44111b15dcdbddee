import { toStorableText } from "../platform/storable";
import type { OperatorMessage } from "./admin/new-message";
import { toLanguageTag } from "./audience";

/** The content of a kind of message that operators write: without its recipients, and when it is sent. */
type ContentOf<Kind extends OperatorMessage["kind"]> = {
  [K in Kind]: Omit<Extract<OperatorMessage, { kind: K }>, "to" | "sendAt" | "perSecond">;
}[Kind];

export type CustomMessage = ContentOf<"custom"> & { link: string | null };

export type BackgroundMessage = ContentOf<"background">;

/** A notification for Live Activities. `at` is its time: ActivityKit ignores one that is older than what is shown. */
export type LiveActivityMessage = { at: Date } & ContentOf<
  "live_activity.start" | "live_activity.update" | "live_activity.end"
>;

/**
 * Which Live Activity of a device a stored message is for: the activity of this id, or for `start` the type of its
 * attributes. `at` is in milliseconds since 1970.
 */
export type LiveActivityTarget = { event: "start" | "update" | "end"; name: string; at: number };

export function isLiveActivityMessage<M extends { kind: string }>(
  message: M | LiveActivityMessage,
): message is LiveActivityMessage {
  return message.kind.startsWith("live_activity.");
}

/**
 * Returns the payload of a notification for Live Activities, and which they are. Undefined fields are left out of the
 * JSON. Apple's times are in seconds since 1970.
 */
export function composeLiveActivity(message: LiveActivityMessage) {
  const { kind, at, contentState, staleDate, relevanceScore, alert } = message;
  const event = kind.slice("live_activity.".length) as LiveActivityTarget["event"];
  const aps = {
    timestamp: toUnixSeconds(at),
    event,
    "content-state": contentState,
    "stale-date": toUnixSeconds(staleDate),
    "dismissal-date": kind === "live_activity.end" ? toUnixSeconds(message.dismissalDate) : undefined,
    "relevance-score": relevanceScore,
    alert,
  };
  if (kind !== "live_activity.start")
    return { aps, liveActivity: { event, name: message.activityId, at: at.getTime() } };
  const { attributesType, attributes, inputPushToken } = message;
  const start = { "attributes-type": attributesType, attributes, "input-push-token": inputPushToken ? 1 : undefined };
  return { aps: { ...aps, ...start }, liveActivity: { event, name: attributesType, at: at.getTime() } };
}

function toUnixSeconds(date: Date | undefined): number | undefined {
  return date && Math.floor(date.getTime() / 1000);
}

/**
 * Returns the fields of `aps` that an operator has chosen (Apple, "Generating a remote notification", table 1). Undefined
 * fields are left out of the JSON.
 */
export function customAps(message: CustomMessage): object {
  const { badge, category, threadId, mutableContent, relevanceScore, interruptionLevel: level } = message;
  const sound = message.sound === undefined && level !== "passive" ? "default" : (message.sound ?? undefined);
  return {
    sound,
    ...(threadId === undefined ? {} : { "thread-id": threadId }),
    ...(level === undefined ? {} : { "interruption-level": level }),
    ...(mutableContent ? { "mutable-content": 1 } : {}),
    ...(relevanceScore === undefined ? {} : { "relevance-score": relevanceScore }),
    badge,
    category,
  };
}

/** Replaces what PostgreSQL cannot store. */
export function toText({ title, body }: Translation): Translation {
  return { title: toStorableText(title), body: toStorableText(body) };
}

/** Replaces what PostgreSQL cannot store. */
export function toStorableFields(data: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, toStorableText(text)]));
}

/** The text of a notification in another language. */
export type Translation = { title: string; body: string };

/**
 * Finds the language tag that serves a device's locale best, by lookup (RFC 4647, section 3.4): `de-at` serves de-AT, or
 * else `de` does. null: the default text. The tags are in lower case.
 */
export function findTranslation(tags: { has: (tag: string) => boolean }, locale: string | null): string | null {
  let tag = locale === null ? "" : toLanguageTag(locale);
  while (tag !== "" && !tags.has(tag)) {
    const shorter = tag.slice(0, Math.max(tag.lastIndexOf("-"), 0));
    tag = /(?:^|-)[a-z0-9]$/.test(shorter) ? shorter.slice(0, Math.max(shorter.lastIndexOf("-"), 0)) : shorter;
  }
  return tag === "" ? null : tag;
}
