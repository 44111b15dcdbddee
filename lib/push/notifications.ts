import type { PushDelivery, PushDevice, PushDeviceStatus } from "../db/generated/client";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** More than this APNs refuses (Apple, "Generating a remote notification"). */
const PAYLOAD_MOST_BYTES = 4096;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

/** Everything there is to say; each kind with what its payload is made of. */
export type Message =
  | { kind: "push.challenge"; challengeId: string; nonce: string }
  | { kind: "billing.payment_failed"; lineId: string }
  | { kind: "billing.expired"; lineId: string }
  | { kind: "billing.renewed"; lineId: string };
type Kind = Message["kind"];

type Rule<M> = {
  level: keyof typeof LEVELS;
  priority: 5 | 10;
  ttlSeconds: number;
  collapseId: (message: M) => string | null;
  /** Only devices in this state get it. */
  to: PushDeviceStatus;
  /** The outbox forgets what it said once it is settled. */
  secret: boolean;
  data: (message: M) => Record<string, string>;
};

/** How loud a notification is: its apns-push-type and the `aps` that goes with it. */
const LEVELS = {
  background: { pushType: "background", aps: { "content-available": 1 } },
  passive: { pushType: "alert", aps: { "interruption-level": "passive" } },
  active: { pushType: "alert", aps: { sound: "default", "interruption-level": "active" } },
} as const;

const billing = (level: "active" | "passive", ttlSeconds: number): Rule<{ lineId: string }> => ({
  level,
  priority: level === "active" ? 10 : 5,
  ttlSeconds,
  collapseId: ({ lineId }) => `bill:${lineId}`,
  to: "active",
  secret: false,
  data: () => ({ link: "subscription" }),
});

const KINDS: { [K in Kind]: Rule<Extract<Message, { kind: K }>> } = {
  "billing.payment_failed": billing("active", 3 * DAY),
  "billing.expired": billing("active", 7 * DAY),
  "billing.renewed": billing("passive", DAY),
  "push.challenge": {
    level: "background",
    priority: 5,
    ttlSeconds: 15 * MINUTE,
    collapseId: () => null,
    to: "pending",
    secret: true,
    data: ({ challengeId, nonce }) => ({ challengeId, nonce }),
  },
};

type Payload = { aps: object; data: Record<string, string | number> };

/** An outbox row with what its device is by now. */
export type Outgoing = Pick<PushDelivery, "id" | "kind" | "priority" | "collapseId" | "expiresAt" | "deviceId"> &
  Pick<PushDevice, "token" | "environment" | "bundleId" | "status"> & { payload: Payload };

/**
 * The columns of an outbox row that its message decides.
 * @throws RangeError over 4,096 bytes of payload.
 */
export function composeNotification(message: Message, now: Date) {
  const rule = KINDS[message.kind] as Rule<Message>; // the one that is made for this message
  const payload: Payload = {
    aps: { ...LEVELS[rule.level].aps, ...(rule.level === "background" ? {} : alertOf(message.kind)) },
    data: { v: 1, kind: message.kind, ...rule.data(message) },
  };
  const sizeBytes = Buffer.byteLength(JSON.stringify(stamp(payload, NIL_ID)));
  if (sizeBytes > PAYLOAD_MOST_BYTES) throw new RangeError(`${message.kind}: a payload of ${sizeBytes} bytes`);
  return {
    kind: message.kind,
    payload,
    priority: rule.priority,
    collapseId: rule.collapseId(message),
    expiresAt: new Date(now.getTime() + rule.ttlSeconds * 1000),
  };
}

/** The app has the words, in its languages: `KIND.title` and `KIND.body` in its Localizable.strings. */
function alertOf(kind: Kind) {
  const [thread] = kind.split(".");
  return {
    alert: { "title-loc-key": `${kind}.title`, "loc-key": `${kind}.body`, "loc-args": [] },
    "thread-id": thread,
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
  const level = isKind(row.kind) ? KINDS[row.kind].level : "background";
  const { pushType } = LEVELS[level];
  return {
    id,
    token,
    environment,
    bundleId,
    pushType,
    priority,
    collapseId,
    expiresAt,
    payload: stamp(row.payload, id),
  };
}

/** Whether a kind's payload must not outlive its sending. */
export function isSecret(kind: string): boolean {
  return isKind(kind) && KINDS[kind].secret;
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}

function stamp({ aps, data }: Payload, id: string): Payload {
  return { aps, data: { ...data, id } };
}
