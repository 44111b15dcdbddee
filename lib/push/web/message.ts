import { createHash } from "node:crypto";
import type { WebPushKeys } from "../../context";
import { toLocale } from "../../locale";
import type { Outgoing } from "../payload";
import { textOfKind } from "./texts";

/** What a message to a browser needs besides its device's endpoint. */
export type WebRecipient = { keys: WebPushKeys; locale: string | null };

/** The payload that a service worker receives, as JSON. Fields are added, not changed or removed. */
type WebPushPayload = {
  v: 1;
  /** The delivery's id. A push service may deliver a message twice. */
  id: string;
  kind: string;
  title: string;
  body: string;
  /** Where a click leads: an absolute URL or a path. null: it depends on the kind. */
  url: string | null;
  /** A notification replaces a shown one with the same tag. null: it replaces none. */
  tag: string | null;
  /** The `data` of the notification on other platforms, without `v`, `id` and `kind`. */
  data: Record<string, unknown>;
};

type Alert = Partial<Record<"title" | "body" | "title-loc-key", string>> & { "loc-args"?: string[] };
type StoredPayload = {
  aps: { alert?: Alert; "interruption-level"?: string };
  data: Record<string, unknown> & { v: number; id: string; kind: string };
};

/** RFC 8030, section 5.3. */
const URGENCIES: Record<string, "low" | "normal" | "high"> = { passive: "low", "time-sensitive": "high" };
/** RFC 8030, section 5.4: a topic has at most 32 characters of base64url. */
const MAX_TOPIC_LENGTH = 32;

/** Returns the message for a delivery to a browser, with its text in the browser's language. `now` is the database's. */
export function toWebPushMessage(row: Outgoing & { web: WebRecipient }, now: Date) {
  const { token: endpoint, web, message, expiresAt } = row;
  const { collapseId } = message;
  const { aps, data } = JSON.parse(message.body(row.id, web.locale)) as StoredPayload;
  return {
    endpoint,
    keys: web.keys,
    payload: JSON.stringify(payloadOf(aps.alert ?? {}, data, collapseId, web.locale)),
    ttlSeconds: Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1000)),
    urgency: URGENCIES[aps["interruption-level"] ?? ""] ?? "normal",
    topic: collapseId === null ? null : topicOf(collapseId),
  };
}

function payloadOf(
  alert: Alert,
  { id, kind, v: _version, ...data }: StoredPayload["data"],
  tag: string | null,
  locale: string | null,
): WebPushPayload {
  const own = { title: alert.title ?? "", body: alert.body ?? "" };
  const text = "title-loc-key" in alert ? textOfKind(kind, alert["loc-args"] ?? [], toLocale(locale)) : own;
  const { link } = data;
  const url = typeof link === "string" && /^(https?:\/\/|\/(?!\/))/.test(link) ? link : null;
  return { v: 1, id, kind, ...text, url, tag, data };
}

/** A collapse id may have other characters than a topic. */
function topicOf(collapseId: string): string {
  return createHash("sha256").update(collapseId).digest("base64url").slice(0, MAX_TOPIC_LENGTH);
}
