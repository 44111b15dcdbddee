import type { PushDeviceStatus } from "../platform/db/generated/client";
import { toStorableText } from "../platform/storable";
import type { LiveActivityMessage } from "./live-activities/message";
import { type CustomOptions, customAps, toStorableFields, toText } from "./messages/custom";

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
  | { kind: "billing.payment_failed"; purchaseId: string }
  | { kind: "billing.expired"; purchaseId: string }
  | { kind: "billing.renewed"; purchaseId: string }
  /** `ttlSeconds`: until the trial ends. */
  | { kind: "billing.trial_ending"; purchaseId: string; ttlSeconds: number }
  /** Wakes the app, which reads the subscription status. */
  | { kind: "billing.changed"; reason: "refund" | "transfer" | "recovery" }
  | { kind: "app.new_version"; version: string }
  | ({ kind: "custom"; title: string; body: string; link: string | null } & CustomOptions)
  /** Wakes the app, which shows nothing. */
  | ({ kind: "background"; data: Record<string, string> } & Pick<CustomOptions, "collapseId" | "ttlSeconds">)
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

const SECURITY = {
  level: "time-sensitive",
  priority: 10,
  queuePriority: QueuePriority.urgent,
  ttlSeconds: DAY,
  recipientStatus: "active",
  isOptional: false,
  isSecret: false,
} as const;
const BILLING = {
  level: "active",
  priority: 10,
  queuePriority: QueuePriority.normal,
  recipientStatus: "active",
  isOptional: true,
  isSecret: false,
} as const;
/** A user who started a Live Activity expects its current state immediately. iOS ends it after eight hours. */
const LIVE_ACTIVITY = {
  level: "live_activity",
  priority: 10,
  queuePriority: QueuePriority.normal,
  ttlSeconds: 8 * 60 * MINUTE,
  collapseId: () => null,
  recipientStatus: "active",
  isOptional: false,
  isSecret: false,
  alert: null,
  data: () => ({}),
} as const;
const toSecurity = () => ({ link: "security" });
const toSubscription = () => ({ link: "subscription" });
const purchaseCollapseId = ({ purchaseId }: { purchaseId: string }) => `bill:${purchaseId}`;

const KINDS: { [K in Kind]: KindOptions<Extract<Message, { kind: K }>> } = {
  "push.challenge": {
    level: "background",
    priority: 5,
    queuePriority: QueuePriority.urgent,
    ttlSeconds: 15 * MINUTE,
    collapseId: () => null,
    recipientStatus: "pending",
    isOptional: false,
    isSecret: true,
    alert: null,
    data: ({ challengeId, nonce }) => ({ challengeId, nonce }),
  },
  "security.new_sign_in": {
    ...SECURITY,
    collapseId: ({ eventId }) => eventId,
    alert: ({ kind, client }) => alert(kind, client),
    data: toSecurity,
  },
  "security.password_changed": {
    ...SECURITY,
    collapseId: ({ eventId }) => eventId,
    alert: ({ kind }) => alert(kind),
    data: toSecurity,
  },
  "billing.payment_failed": {
    ...BILLING,
    ttlSeconds: 3 * DAY,
    collapseId: purchaseCollapseId,
    alert: ({ kind }) => alert(kind),
    data: toSubscription,
  },
  "billing.expired": {
    ...BILLING,
    ttlSeconds: 7 * DAY,
    collapseId: purchaseCollapseId,
    alert: ({ kind }) => alert(kind),
    data: toSubscription,
  },
  "billing.renewed": {
    ...BILLING,
    level: "passive",
    priority: 5,
    ttlSeconds: DAY,
    collapseId: purchaseCollapseId,
    alert: ({ kind }) => alert(kind),
    data: toSubscription,
  },
  "billing.trial_ending": {
    ...BILLING,
    ttlSeconds: 3 * DAY,
    collapseId: purchaseCollapseId,
    alert: ({ kind }) => alert(kind),
    data: toSubscription,
  },
  "billing.changed": {
    level: "background",
    priority: 5,
    queuePriority: QueuePriority.normal,
    ttlSeconds: DAY,
    collapseId: ({ kind }) => kind,
    recipientStatus: "active",
    isOptional: false,
    isSecret: false,
    alert: null,
    data: ({ reason }) => ({ reason }),
  },
  "app.new_version": {
    level: "passive",
    priority: 5,
    queuePriority: QueuePriority.announcement,
    ttlSeconds: 7 * DAY,
    collapseId: () => "version",
    recipientStatus: "active",
    isOptional: true,
    isSecret: false,
    alert: ({ kind, version }) => alert(kind, version),
    data: ({ version }) => ({ version: truncate(version), link: "updates" }),
  },
  custom: {
    level: "active",
    priority: 10,
    queuePriority: QueuePriority.normal,
    ttlSeconds: DAY,
    collapseId: ({ collapseId = null }) => collapseId,
    recipientStatus: "active",
    isOptional: true,
    isSecret: false,
    alert: toText,
    data: ({ link, data }): Record<string, string> => ({
      ...toStorableFields(data ?? {}),
      ...(link === null ? {} : { link: toStorableText(link) }),
    }),
    aps: customAps,
  },
  background: {
    level: "background",
    priority: 5,
    queuePriority: QueuePriority.normal,
    ttlSeconds: DAY,
    collapseId: ({ collapseId = null }) => collapseId,
    recipientStatus: "active",
    isOptional: false,
    isSecret: false,
    alert: null,
    data: ({ data }) => toStorableFields(data),
  },
  "live_activity.start": LIVE_ACTIVITY,
  "live_activity.update": LIVE_ACTIVITY,
  "live_activity.end": LIVE_ACTIVITY,
};

/** The kinds whose payload is deleted after sending. */
export const SECRET_KINDS: readonly string[] = Object.entries(KINDS).flatMap(([kind, { isSecret: secret }]) =>
  secret ? [kind] : [],
);

/** The kinds that a person may turn off. */
export const OPTIONAL_KINDS: readonly string[] = Object.entries(KINDS).flatMap(([kind, { isOptional }]) =>
  isOptional ? [kind] : [],
);

/** The kinds that operators write. The predicate of an index names them. */
export const OPERATOR_KINDS: readonly Kind[] = ["custom", "background", "app.new_version"];

/** The queue priority of each kind. */
export const QUEUE_PRIORITIES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(KINDS).map(([kind, { queuePriority }]) => [kind, queuePriority]),
);

/** Returns what the deliveries of a stored message need of its kind. null: this build does not know the kind. */
export function optionsOfKind(kind: string) {
  return isKind(kind) ? (KINDS[kind] as KindOptions<Message>) : null;
}

/** Returns the options of a message's kind. TypeScript cannot infer that a message and its options have the same kind. */
export function optionsOf<M extends Message>(message: M): KindOptions<M> {
  return KINDS[message.kind] as unknown as KindOptions<M>;
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}

function truncate(text: string): string {
  return [...toStorableText(text.slice(0, 4 * MAX_ARGUMENT_CHARACTERS))].slice(0, MAX_ARGUMENT_CHARACTERS).join("");
}
