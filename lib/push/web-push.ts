import { createHash } from "node:crypto";
import type { WebPushKeys } from "../context";
import { NIL_ID } from "../platform/db/ids";
import { LOCALES, type Locale, toLocale } from "../platform/locale";
import { type composeNotification, MAX_PAYLOAD_BYTES, type Outgoing, prepareMessage } from "./payload";

type Text = { title: string; body: string };

/** The texts that iOS apps localize themselves. "{0}" is the first argument. */
const TEXTS: Readonly<Record<string, Record<Locale, Text>>> = {
  "security.new_sign_in": {
    en: { title: "New sign-in", body: "{0} signed in to your account." },
    de: { title: "Neue Anmeldung", body: "{0} hat sich in Ihrem Konto angemeldet." },
  },
  "security.password_changed": {
    en: { title: "Password changed", body: "The password of your account has been changed." },
    de: { title: "Passwort geändert", body: "Das Passwort Ihres Kontos wurde geändert." },
  },
  "billing.payment_failed": {
    en: { title: "Payment failed", body: "Your subscription could not be renewed. Please check your payment method." },
    de: {
      title: "Zahlung fehlgeschlagen",
      body: "Ihr Abo konnte nicht verlängert werden. Bitte prüfen Sie Ihre Zahlungsart.",
    },
  },
  "billing.expired": {
    en: { title: "Subscription expired", body: "Your subscription has ended." },
    de: { title: "Abo abgelaufen", body: "Ihr Abo ist beendet." },
  },
  "billing.renewed": {
    en: { title: "Subscription renewed", body: "Your subscription has been renewed." },
    de: { title: "Abo verlängert", body: "Ihr Abo wurde verlängert." },
  },
  "billing.trial_ending": {
    en: {
      title: "Trial ends soon",
      body: "Your free trial ends soon. After that, you will be charged for your subscription.",
    },
    de: {
      title: "Probezeit endet bald",
      body: "Ihre kostenlose Probezeit endet bald. Danach wird Ihnen Ihr Abo berechnet.",
    },
  },
  "app.new_version": {
    en: { title: "New version", body: "Version {0} is available." },
    de: { title: "Neue Version", body: "Version {0} ist verfügbar." },
  },
};

/** For a kind that has no text of its own. */
const OTHER: Record<Locale, Text> = {
  en: { title: "Your account", body: "There is news about your account." },
  de: { title: "Ihr Konto", body: "Es gibt Neuigkeiten zu Ihrem Konto." },
};

/** Returns the text of a kind in a language. null: the first of LOCALES. */
function textOfKind(kind: string, args: readonly string[], locale: Locale | null): Text {
  const { title, body } = (TEXTS[kind] ?? OTHER)[locale ?? LOCALES[0]];
  return { title, body: body.replaceAll(/\{(\d)\}/g, (_, index) => args[Number(index)] ?? "") };
}

/** What a message to a browser needs besides its device's endpoint. */
export type WebRecipient = { keys: WebPushKeys; locale: string | null; appUrl: string | null };

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
    payload: declare(payloadOf(stored, collapseId, web.locale), web.appUrl),
    ttlSeconds: Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1000)),
    urgency: URGENCIES[stored.aps["interruption-level"] ?? ""] ?? "normal",
    // A collapse id may have other characters than a topic.
    topic: collapseId && createHash("sha256").update(collapseId).digest("base64url").slice(0, MAX_TOPIC_LENGTH),
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
    Buffer.byteLength(JSON.stringify(payloadOf(JSON.parse(body(NIL_ID, locale)), collapseId, locale))),
  );
  const sizeBytes = Math.max(...sizes) + ENCRYPTION_BYTES;
  if (sizeBytes > MAX_PAYLOAD_BYTES)
    throw new RangeError(
      `${kind}: encrypted for browsers, the message has ${sizeBytes} bytes; push services accept ${MAX_PAYLOAD_BYTES}, which is ${sizeBytes - MAX_PAYLOAD_BYTES} less`,
    );
}

/**
 * Returns the payload that a service worker receives. Fields are added, not changed or removed. `url`: where a
 * click leads; null: it depends on the kind. `tag`: replaces a shown notification with the same one.
 */
function payloadOf({ aps: { alert = {} }, data: stored }: StoredPayload, tag: string | null, locale: string | null) {
  const { id, kind, v: _, ...data } = stored;
  const own = { title: alert.title ?? "", body: alert.body ?? "" };
  const text = "title-loc-key" in alert ? textOfKind(kind, alert["loc-args"] ?? [], toLocale(locale)) : own;
  const { link } = data;
  const url = typeof link === "string" && /^(https?:\/\/|\/(?!\/))/.test(link) ? link : null;
  return { v: 1, id, kind, ...text, url, tag, data };
}

/**
 * Returns a payload as JSON, which is also a declarative push message (W3C, Push API): Safari shows the notification even if
 * it has removed the app's service worker. One that is there receives the same message, because it is mutable. A message that
 * would be too large for that is only for service workers.
 */
function declare(push: ReturnType<typeof payloadOf>, appUrl: string | null): string {
  const { title, body, ...data } = push;
  const notification = { title, body, tag: data.tag ?? data.id, navigate: targetOf(data.url, appUrl), data };
  const declarative = JSON.stringify({ ...push, web_push: 8030, mutable: true, notification });
  const isTooLarge = Buffer.byteLength(declarative) + ENCRYPTION_BYTES > MAX_PAYLOAD_BYTES;
  return isTooLarge ? JSON.stringify(push) : declarative;
}

/** Where a notification leads: within the app. Browsers resolve a path against the app's start. */
function targetOf(url: string | null, appUrl: string | null): string {
  if (appUrl === null) return url?.startsWith("/") ? url : "/";
  const target = URL.canParse(url ?? "", appUrl) ? new URL(url ?? "", appUrl) : null;
  return target?.origin === new URL(appUrl).origin ? target.href : appUrl;
}
