import type { PushDelivery, PushDevice, PushDeviceStatus } from "../db/generated/client";

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
/** More than this APNs refuses (Apple, "Generating a remote notification"). */
const PAYLOAD_MOST_BYTES = 4096;
/** So much of another's words goes into a notification that has to fit whatever they are. */
const WORDS_MOST = 64;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

/** Everything there is to say; each kind with what its payload is made of. */
export type Message =
  | { kind: "push.challenge"; challengeId: string; nonce: string }
  /** `client`: what signed in, in words: a device's name or a browser's. */
  | { kind: "security.new_sign_in"; eventId: string; client: string }
  | { kind: "security.password_changed"; eventId: string }
  | { kind: "billing.payment_failed"; lineId: string }
  | { kind: "billing.expired"; lineId: string }
  | { kind: "billing.renewed"; lineId: string }
  | { kind: "app.new_version"; version: string }
  | { kind: "custom"; title: string; body: string; link: string | null };
type Kind = Message["kind"];

type Rule<M extends Message> = {
  level: "background" | "passive" | "active" | "time-sensitive";
  priority: 5 | 10;
  ttlSeconds: number;
  collapseId: (message: M) => string | null;
  /** Only devices in this state get it. */
  to: PushDeviceStatus;
  /** The outbox forgets what it said once it is settled. */
  secret: boolean;
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
  ...(args.length > 0 ? { "loc-args": args.map(shorten) } : {}),
});

const SECURITY = { level: "time-sensitive", priority: 10, ttlSeconds: DAY, to: "active", secret: false } as const;
const BILLING = { level: "active", priority: 10, to: "active", secret: false } as const;
const toSecurity = () => ({ link: "security" });
const toSubscription = () => ({ link: "subscription" });
const ofLine = ({ lineId }: { lineId: string }) => `bill:${lineId}`;

const KINDS: { [K in Kind]: Rule<Extract<Message, { kind: K }>> } = {
  "push.challenge": {
    level: "background",
    priority: 5,
    ttlSeconds: 15 * MINUTE,
    collapseId: () => null,
    to: "pending",
    secret: true,
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
    collapseId: ofLine,
    alert: ({ kind }) => alert(kind),
    data: toSubscription,
  },
  "billing.expired": {
    ...BILLING,
    ttlSeconds: 7 * DAY,
    collapseId: ofLine,
    alert: ({ kind }) => alert(kind),
    data: toSubscription,
  },
  "billing.renewed": {
    ...BILLING,
    level: "passive",
    priority: 5,
    ttlSeconds: DAY,
    collapseId: ofLine,
    alert: ({ kind }) => alert(kind),
    data: toSubscription,
  },
  "app.new_version": {
    level: "passive",
    priority: 5,
    ttlSeconds: 7 * DAY,
    collapseId: () => "version",
    to: "active",
    secret: false,
    alert: ({ kind, version }) => alert(kind, version),
    data: ({ version }) => ({ version: shorten(version), link: "updates" }),
  },
  custom: {
    level: "active",
    priority: 10,
    ttlSeconds: DAY,
    collapseId: () => null,
    to: "active",
    secret: false,
    alert: ({ title, body }) => ({ title: storable(title), body: storable(body) }),
    data: ({ link }): Record<string, string> => (link === null ? {} : { link: storable(link) }),
  },
};

/** The kinds whose payload must not outlive its sending. */
export const SECRET_KINDS: readonly string[] = Object.entries(KINDS).flatMap(([kind, { secret }]) =>
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
  const rule = ruleOf(message);
  const payload: Payload = {
    aps: apsOf(message, rule),
    data: { v: 1, kind: message.kind, ...rule.data(message) },
  };
  const sizeBytes = Buffer.byteLength(JSON.stringify(stamp(payload, NIL_ID)));
  if (sizeBytes > PAYLOAD_MOST_BYTES)
    throw new RangeError(`${message.kind}: ${sizeBytes} bytes of payload, where APNs takes ${PAYLOAD_MOST_BYTES}`);
  return {
    to: rule.to,
    kind: message.kind,
    payload,
    priority: rule.priority,
    collapseId: rule.collapseId(message),
    ttlSeconds: rule.ttlSeconds,
  };
}

/** Why a row is not to be sent any more; null where nothing speaks against it. */
export function objectionTo(row: Outgoing, now: Date): "unknown_kind" | "expired" | "device_state" | null {
  if (!isKind(row.kind)) return "unknown_kind";
  if (row.expiresAt <= now) return "expired";
  return row.status === KINDS[row.kind].to ? null : "device_state";
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
    payload: stamp(row.payload, id),
  };
}

/** A message's own rule: TypeScript cannot tell that the two belong together. */
function ruleOf<M extends Message>(message: M): Rule<M> {
  return KINDS[message.kind] as unknown as Rule<M>;
}

function apsOf<M extends Message>(message: M, { level, alert }: Rule<M>): object {
  if (!alert) return { "content-available": 1 };
  const [thread] = message.kind.split(".");
  const sound = level === "passive" ? {} : { sound: "default" };
  return { alert: alert(message), ...sound, "thread-id": thread, "interruption-level": level };
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}

function stamp({ aps, data }: Payload, id: string): Payload {
  return { aps, data: { ...data, id } };
}

/** Another's words, cut to what always fits. */
function shorten(text: string): string {
  return [...storable(text.slice(0, 4 * WORDS_MOST))].slice(0, WORDS_MOST).join("");
}

/** PostgreSQL's jsonb takes neither NUL nor half a surrogate pair. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}
