import type { PushDelivery, PushDevice, PushDeviceStatus } from "../db/generated/client";
import { toStorableText } from "../text";

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
/** More than this APNs refuses (Apple, "Generating a remote notification"). */
const MAX_PAYLOAD_BYTES = 4096;
/** So much of another's words goes into a notification that has to fit whatever they are. */
const MAX_ARGUMENT_CHARACTERS = 64;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

/** Everything there is to say; each kind with what its payload is made of. */
export type Message =
  | { kind: "push.challenge"; challengeId: string; nonce: string }
  /** `client`: what signed in, in words: a device's name or a browser's. */
  | { kind: "security.new_sign_in"; eventId: string; client: string }
  | { kind: "security.password_changed"; eventId: string }
  | { kind: "billing.payment_failed"; purchaseId: string }
  | { kind: "billing.expired"; purchaseId: string }
  | { kind: "billing.renewed"; purchaseId: string }
  | { kind: "app.new_version"; version: string }
  | { kind: "custom"; title: string; body: string; link: string | null };
type Kind = Message["kind"];

type KindOptions<M extends Message> = {
  level: "background" | "passive" | "active" | "time-sensitive";
  priority: 5 | 10;
  ttlSeconds: number;
  collapseId: (message: M) => string | null;
  /** Only devices in this state get it. */
  recipientStatus: PushDeviceStatus;
  /** The outbox forgets what it said once it is settled. */
  isSecret: boolean;
  /** What people read; none for a background push. */
  alert: ((message: M) => Alert) | null;
  data: (message: M) => Record<string, string>;
};

/** Apple, "Generating a remote notification", table 2: texts of the app's own, or what `loc-key` looks up in it. */
type Alert = { title: string; body: string } | { "title-loc-key": string; "loc-key": string; "loc-args"?: string[] };

/** What an alert of ours has in common. Its texts are the app's, by the kind's name; `args` fill the body's. */
const alert = (kind: Kind, ...args: string[]): Alert => ({
  "title-loc-key": `${kind}.title`,
  "loc-key": `${kind}.body`,
  ...(args.length > 0 ? { "loc-args": args.map(truncate) } : {}),
});

const SECURITY = {
  level: "time-sensitive",
  priority: 10,
  ttlSeconds: DAY,
  recipientStatus: "active",
  isSecret: false,
} as const;
const BILLING = { level: "active", priority: 10, recipientStatus: "active", isSecret: false } as const;
const toSecurity = () => ({ link: "security" });
const toSubscription = () => ({ link: "subscription" });
const purchaseCollapseId = ({ purchaseId }: { purchaseId: string }) => `bill:${purchaseId}`;

const KINDS: { [K in Kind]: KindOptions<Extract<Message, { kind: K }>> } = {
  "push.challenge": {
    level: "background",
    priority: 5,
    ttlSeconds: 15 * MINUTE,
    collapseId: () => null,
    recipientStatus: "pending",
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
  "app.new_version": {
    level: "passive",
    priority: 5,
    ttlSeconds: 7 * DAY,
    collapseId: () => "version",
    recipientStatus: "active",
    isSecret: false,
    alert: ({ kind, version }) => alert(kind, version),
    data: ({ version }) => ({ version: truncate(version), link: "updates" }),
  },
  custom: {
    level: "active",
    priority: 10,
    ttlSeconds: DAY,
    collapseId: () => null,
    recipientStatus: "active",
    isSecret: false,
    alert: ({ title, body }) => ({ title: toStorableText(title), body: toStorableText(body) }),
    data: ({ link }): Record<string, string> => (link === null ? {} : { link: toStorableText(link) }),
  },
};

/** The kinds whose payload must not outlive its sending. */
export const SECRET_KINDS: readonly string[] = Object.entries(KINDS).flatMap(([kind, { isSecret: secret }]) =>
  secret ? [kind] : [],
);

type Payload = { aps: object; data: Record<string, string | number> };

/** An outbox row with what its device is by now. */
export type Outgoing = Pick<PushDelivery, "id" | "kind" | "priority" | "collapseId" | "expiresAt" | "deviceId"> &
  Pick<PushDevice, "token" | "environment" | "bundleId" | "status"> & { payload: Payload };

/**
 * The columns of an outbox row that its message decides, and which devices it is for.
 * @throws RangeError over 4,096 bytes of payload; only `custom` and a challenge can come to that, so that an event
 * is never lost over what is told of it.
 */
export function composeNotification(message: Message) {
  const rule = optionsOf(message);
  const payload: Payload = {
    aps: apsOf(message, rule),
    data: { v: 1, kind: message.kind, ...rule.data(message) },
  };
  const sizeBytes = Buffer.byteLength(JSON.stringify(withId(payload, NIL_ID)));
  if (sizeBytes > MAX_PAYLOAD_BYTES)
    throw new RangeError(`${message.kind}: ${sizeBytes} bytes of payload, where APNs takes ${MAX_PAYLOAD_BYTES}`);
  return {
    to: rule.recipientStatus,
    kind: message.kind,
    payload,
    priority: rule.priority,
    collapseId: rule.collapseId(message),
    ttlSeconds: rule.ttlSeconds,
  };
}

/** Why a row is not to be sent any more; null where nothing speaks against it. */
export function cancellationReason(row: Outgoing, now: Date): "unknown_kind" | "expired" | "device_state" | null {
  if (!isKind(row.kind)) return "unknown_kind";
  if (row.expiresAt <= now) return "expired";
  return row.status === KINDS[row.kind].recipientStatus ? null : "device_state";
}

/** What goes to APNs for a row. A broadcast has one payload for all: each device's `data.id` is set here. */
export function toNotification(row: Outgoing) {
  const { id, token, environment, bundleId, priority, collapseId, expiresAt } = row;
  const isAlert = isKind(row.kind) && KINDS[row.kind].level !== "background";
  return {
    id,
    token,
    environment,
    bundleId,
    pushType: isAlert ? ("alert" as const) : ("background" as const),
    priority,
    collapseId,
    expiresAt,
    payload: withId(row.payload, id),
  };
}

/** A message's own rule: TypeScript cannot tell that the two belong together. */
function optionsOf<M extends Message>(message: M): KindOptions<M> {
  return KINDS[message.kind] as unknown as KindOptions<M>;
}

function apsOf<M extends Message>(message: M, { level, alert }: KindOptions<M>): object {
  if (!alert) return { "content-available": 1 };
  const [thread] = message.kind.split(".");
  const sound = level === "passive" ? {} : { sound: "default" };
  return { alert: alert(message), ...sound, "thread-id": thread, "interruption-level": level };
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}

function withId({ aps, data }: Payload, id: string): Payload {
  return { aps, data: { ...data, id } };
}

/** Another's words, cut to what always fits. */
function truncate(text: string): string {
  return [...toStorableText(text.slice(0, 4 * MAX_ARGUMENT_CHARACTERS))].slice(0, MAX_ARGUMENT_CHARACTERS).join("");
}
