import { createHash } from "node:crypto";
import type { WebPushKeys } from "../../context";
import { NIL_ID } from "../../platform/db/ids";
import { LOCALES, toLocale } from "../../platform/locale";
import { type composeNotification, MAX_PAYLOAD_BYTES, type Outgoing, prepareMessage } from "../payload";
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
/** The header with the sender's key, a delimiter and a tag (RFC 8188, section 2; RFC 8291, section 4). */
const ENCRYPTION_BYTES = 86 + 1 + 16;
/** RFC 8030, section 5.4: a topic has at most 32 characters of base64url. */
const MAX_TOPIC_LENGTH = 32;

/** Returns the message for a delivery to a browser, with its text in the browser's language. `now` is the database's. */
export function toWebPushMessage(row: Outgoing & { web: WebRecipient }, now: Date) {
  const { token: endpoint, web, message, expiresAt } = row;
  const { collapseId } = message;
  const stored = JSON.parse(message.body(row.id, web.locale)) as StoredPayload;
  return {
    endpoint,
    keys: web.keys,
    payload: toPayload(stored, collapseId, web.locale),
    ttlSeconds: Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1000)),
    urgency: URGENCIES[stored.aps["interruption-level"] ?? ""] ?? "normal",
    topic: collapseId === null ? null : topicOf(collapseId),
  };
}

/**
 * Requires that a message fits browsers once it is encrypted, in its longest language.
 * @throws RangeError over 4,096 bytes: push services may refuse more (RFC 8030, section 7.2)
 */
export function requireFitsBrowsers(composed: ReturnType<typeof composeNotification>): void {
  const { kind, payload, collapseId } = composed;
  const { body } = prepareMessage(composed);
  const locales = [null, ...LOCALES, ...("translations" in payload ? Object.keys(payload.translations ?? {}) : [])];
  const sizes = locales.map((locale) =>
    Buffer.byteLength(toPayload(JSON.parse(body(NIL_ID, locale)), collapseId, locale)),
  );
  const sizeBytes = Math.max(...sizes) + ENCRYPTION_BYTES;
  if (sizeBytes > MAX_PAYLOAD_BYTES)
    throw new RangeError(
      `${kind}: encrypted for browsers, the message has ${sizeBytes} bytes; push services accept ${MAX_PAYLOAD_BYTES}, which is ${sizeBytes - MAX_PAYLOAD_BYTES} less`,
    );
}

/** Returns the payload of a browser as JSON. */
function toPayload({ aps, data }: StoredPayload, collapseId: string | null, locale: string | null): string {
  return JSON.stringify(payloadOf(aps.alert ?? {}, data, collapseId, locale));
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
