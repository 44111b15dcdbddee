import type { PushDeviceStatus } from "../platform/db/generated/client";
import { toStorableText } from "../platform/storable";
import {
  type BackgroundMessage,
  type CustomMessage,
  customAps,
  type LiveActivityMessage,
  type Translation,
  toStorableFields,
  toText,
} from "./messages";

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
/** Text from outside is cut to this length, so that it always fits. */
const MAX_ARGUMENT_CHARACTERS = 64;

/** A notification to send: its kind, and the values that its payload is made of. */
export type Message =
  | { kind: "push.challenge"; challengeId: string; nonce: string }
  /** `client` is the name of the device or browser that signed in. */
  | { kind: "security.new_sign_in"; eventId: string; client: string }
  | { kind: "security.password_changed"; eventId: string }
  /** An email that does not reach the owner of the account, in its language. */
  | ({ kind: "security.notice"; eventId: string } & Translation)
  | { kind: "billing.payment_failed"; purchaseId: string }
  | { kind: "billing.expired"; purchaseId: string }
  | { kind: "billing.renewed"; purchaseId: string }
  /** `ttlSeconds`: until the trial ends. */
  | { kind: "billing.trial_ending"; purchaseId: string; ttlSeconds: number }
  /** Wakes the app, which reads the subscription status. */
  | { kind: "billing.changed"; reason: "refund" | "transfer" | "recovery" | "grant" }
  | { kind: "app.new_version"; version: string }
  | CustomMessage
  | BackgroundMessage
  | LiveActivityMessage;
type Kind = Message["kind"];

/**
 * The order in which workers claim what is due: someone waits for a challenge or has to know of a sign-in, and an
 * announcement to every device takes minutes.
 */
export const QueuePriority = { urgent: 0, normal: 1, announcement: 2 } as const;

export type KindOptions<M extends Message> = {
  level: "background" | "passive" | "active" | "time-sensitive" | "live_activity";
  /** `apns-priority`. APNs accepts no 10 for a background notification. */
  priority: 5 | 10;
  queuePriority: (typeof QueuePriority)[keyof typeof QueuePriority];
  ttlSeconds: number;
  collapseId: (message: M) => string | null;
  /** Only devices with this status receive it. */
  recipientStatus: PushDeviceStatus;
  /** Whether a person may turn it off, and it waits for the end of their quiet hours. */
  isOptional: boolean;
  /** The outbox deletes the payload once it is sent, failed or canceled. */
  isSecret: boolean;
  /** The visible part; null for a background notification and a Live Activity. */
  alert: ((message: M) => Alert) | null;
  data: (message: M) => Record<string, string>;
  /** Fields of `aps` that the message chooses. */
  aps?: (message: M) => object;
};

/** Apple, "Generating a remote notification", table 2: literal text, or keys that the app localizes. */
type Alert = { title: string; body: string } | { "title-loc-key": string; "loc-key": string; "loc-args"?: string[] };

/** An alert that the app localizes, with keys named after the kind. `args` fill in the body. */
const alert = (kind: Kind, ...args: string[]): Alert => ({
  "title-loc-key": `${kind}.title`,
  "loc-key": `${kind}.body`,
  ...(args.length > 0 ? { "loc-args": args.map(truncate) } : {}),
});

/** What most kinds share: a notification that a person sees. */
const DEFAULTS = {
  level: "active",
  priority: 10,
  queuePriority: QueuePriority.normal,
  ttlSeconds: DAY,
  collapseId: () => null,
  recipientStatus: "active",
  isOptional: false,
  isSecret: false,
  alert: null,
  data: () => ({}),
} as const;
const BACKGROUND = { ...DEFAULTS, level: "background", priority: 5 } as const;
const SECURITY = {
  ...DEFAULTS,
  level: "time-sensitive",
  queuePriority: QueuePriority.urgent,
  collapseId: ({ eventId }: { eventId: string }) => eventId,
  data: () => ({ link: "security" }),
} as const;
const BILLING = {
  ...DEFAULTS,
  ttlSeconds: 3 * DAY,
  collapseId: ({ purchaseId }: { purchaseId: string }) => `bill:${purchaseId}`,
  isOptional: true,
  alert: ({ kind }: { kind: Kind }) => alert(kind),
  data: () => ({ link: "subscription" }),
} as const;
/** A user who started a Live Activity expects its current state immediately. iOS ends it after eight hours. */
const LIVE_ACTIVITY = { ...DEFAULTS, level: "live_activity", ttlSeconds: 8 * 60 * MINUTE } as const;

const KINDS: { [K in Kind]: KindOptions<Extract<Message, { kind: K }>> } = {
  "push.challenge": {
    ...BACKGROUND,
    queuePriority: QueuePriority.urgent,
    ttlSeconds: 15 * MINUTE,
    recipientStatus: "pending",
    isSecret: true,
    data: ({ challengeId, nonce }) => ({ challengeId, nonce }),
  },
  "security.new_sign_in": { ...SECURITY, alert: ({ kind, client }) => alert(kind, client) },
  "security.password_changed": { ...SECURITY, alert: ({ kind }) => alert(kind) },
  "security.notice": { ...SECURITY, alert: toText },
  "billing.payment_failed": BILLING,
  "billing.expired": { ...BILLING, ttlSeconds: 7 * DAY },
  "billing.renewed": { ...BILLING, level: "passive", priority: 5, ttlSeconds: DAY },
  "billing.trial_ending": BILLING,
  "billing.changed": { ...BACKGROUND, collapseId: ({ kind }) => kind, data: ({ reason }) => ({ reason }) },
  "app.new_version": {
    ...DEFAULTS,
    level: "passive",
    priority: 5,
    queuePriority: QueuePriority.announcement,
    ttlSeconds: 7 * DAY,
    collapseId: () => "version",
    isOptional: true,
    alert: ({ kind, version }) => alert(kind, version),
    data: ({ version }) => ({ version: truncate(version), link: "updates" }),
  },
  custom: {
    ...DEFAULTS,
    collapseId: ({ collapseId = null }) => collapseId,
    isOptional: true,
    alert: toText,
    data: ({ link, data }): Record<string, string> => ({
      ...toStorableFields(data ?? {}),
      ...(link === null ? {} : { link: toStorableText(link) }),
    }),
    aps: customAps,
  },
  background: {
    ...BACKGROUND,
    collapseId: ({ collapseId = null }) => collapseId,
    data: ({ data }) => toStorableFields(data),
  },
  "live_activity.start": LIVE_ACTIVITY,
  "live_activity.update": LIVE_ACTIVITY,
  "live_activity.end": LIVE_ACTIVITY,
};

const kindsWith = (field: "isSecret" | "isOptional"): readonly string[] =>
  Object.entries(KINDS).flatMap(([kind, options]) => (options[field] ? [kind] : []));

/** The kinds whose payload is deleted after sending. */
export const SECRET_KINDS = kindsWith("isSecret");

/** The kinds that a person may turn off. */
export const OPTIONAL_KINDS = kindsWith("isOptional");

/** The kinds that operators write. The predicate of an index names them. */
export const OPERATOR_KINDS: readonly Kind[] = ["custom", "background", "app.new_version"];

export const QUEUE_PRIORITIES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(KINDS).map(([kind, { queuePriority }]) => [kind, queuePriority]),
);

/** Returns what the deliveries of a stored message need of its kind. null: this build does not know the kind. */
export function optionsOfKind(kind: string) {
  return Object.hasOwn(KINDS, kind) ? (KINDS[kind as Kind] as KindOptions<Message>) : null;
}

/** Returns the options of a message's kind. TypeScript cannot infer that a message and its options have the same kind. */
export function optionsOf<M extends Message>(message: M): KindOptions<M> {
  return KINDS[message.kind] as unknown as KindOptions<M>;
}

function truncate(text: string): string {
  return [...toStorableText(text.slice(0, 4 * MAX_ARGUMENT_CHARACTERS))].slice(0, MAX_ARGUMENT_CHARACTERS).join("");
}
