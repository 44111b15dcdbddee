import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Message } from "@/lib/push/notifications";
import { composeNotification, prepareMessage, toNotification } from "@/lib/push/payload";
import { cancellationReason } from "@/lib/push/worker/deliver";
import { BUNDLE_ID } from "@/tests/support/push/push";

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const now = new Date("2026-11-20T10:00:00Z");
const eventId = randomUUID();
const purchaseId = randomUUID();
const challenge: Message = { kind: "push.challenge", challengeId: randomUUID(), nonce: "n".repeat(43) };
const words = { kind: "custom", title: "A title", body: "A body", link: null } as const;

/** What a row of the outbox holds, as the outbox writes it down. */
const composed = (message: Message) => {
  const { ttlSeconds, ...row } = composeNotification(message);
  return { ...row, expiresAt: new Date(now.getTime() + ttlSeconds * 1000) };
};
const outgoing = (message: Message, change: object = {}) => ({
  message: prepareMessage({ ...composed(message), ...change }),
  expiresAt: composed(message).expiresAt,
  id: randomUUID(),
  deviceId: randomUUID(),
  messageId: randomUUID(),
  token: "ab",
  bundleId: BUNDLE_ID,
  environment: "sandbox" as const,
  status: "active" as const,
  locale: null,
  liveActivity: null,
  ...change,
});
const sent = (message: Message) => {
  const { pushType, priority, collapseId, expiresAt, body } = toNotification(outgoing(message));
  return { pushType, priority, collapseId, livesMs: expiresAt.getTime() - now.getTime(), payload: JSON.parse(body) };
};
const alert = (kind: string, level: string, args?: string[]) => ({
  alert: { "title-loc-key": `${kind}.title`, "loc-key": `${kind}.body`, ...(args ? { "loc-args": args } : {}) },
  ...(level === "passive" ? {} : { sound: "default" }),
  "thread-id": kind.split(".")[0],
  "interruption-level": level,
});

/** What the kinds of a group have in common. */
const GROUPS: Record<string, { collapseId: string; data: object }> = {
  security: { collapseId: eventId, data: { link: "security" } },
  billing: { collapseId: `bill:${purchaseId}`, data: { link: "subscription" } },
  app: { collapseId: "version", data: { version: "2.1.0", link: "updates" } },
};

test.each<[message: Message, priority: number, livesMs: number, level: string, args?: string[]]>([
  [{ kind: "security.new_sign_in", eventId, client: "Ann's iPhone" }, 10, DAY_MS, "time-sensitive", ["Ann's iPhone"]],
  [{ kind: "security.password_changed", eventId }, 10, DAY_MS, "time-sensitive"],
  [{ kind: "billing.payment_failed", purchaseId }, 10, 3 * DAY_MS, "active"],
  [{ kind: "billing.expired", purchaseId }, 10, 7 * DAY_MS, "active"],
  [{ kind: "billing.trial_ending", purchaseId, ttlSeconds: 3600 }, 10, HOUR_MS, "active"],
  [{ kind: "billing.renewed", purchaseId }, 5, DAY_MS, "passive"],
  [{ kind: "app.new_version", version: "2.1.0" }, 5, 7 * DAY_MS, "passive", ["2.1.0"]],
])("$kind: its priority, time to live, collapse id and payload", (message, priority, livesMs, level, args) => {
  const { kind } = message;
  const { collapseId, data } = GROUPS[kind.split(".")[0] ?? ""] ?? expect.fail("no group");
  const payload = { aps: alert(kind, level, args), data: { v: 1, id: expect.any(String), kind, ...data } };
  expect(sent(message)).toEqual({ pushType: "alert", priority, livesMs, collapseId, payload });
});

test("a custom notification has an operator's text and link", () => {
  const link = "https://example.com";
  const text = { alert: { title: "A title", body: "A body" }, sound: "default" };
  const aps = { ...text, "thread-id": "custom", "interruption-level": "active" };
  const payload = { aps, data: { v: 1, id: expect.any(String), kind: "custom", link } };
  const wanted = { pushType: "alert", priority: 10, livesMs: DAY_MS, collapseId: null, payload };
  expect(sent({ ...words, link })).toEqual(wanted);
});

describe("the payload size", () => {
  const sizeOf = (body: string) => Buffer.byteLength(toNotification(outgoing({ ...words, body })).body);

  test("is accepted at 4,096 bytes and rejected at 4,097", () => {
    const most = "x".repeat(4096 - sizeOf(""));
    expect(sizeOf(most)).toBe(4096);
    expect(() => composeNotification({ ...words, body: `${most}x` })).toThrow(
      new RangeError("custom: the payload has 4097 bytes; APNs accepts 4096, which is 1 less"),
    );
  });

  test("is never exceeded by text from outside", () => {
    for (const hostile of ["x".repeat(1_000_000), "\u0001".repeat(10_000), "👩‍👩‍👧‍👦".repeat(10_000)]) {
      composeNotification({ kind: "security.new_sign_in", eventId, client: hostile });
      composeNotification({ kind: "app.new_version", version: hostile });
    }
  });

  test("what PostgreSQL cannot store is replaced", () => {
    const { payload } = composeNotification({ kind: "security.new_sign_in", eventId, client: "a\0b\ud800c" });
    expect(payload.aps).toMatchObject({ alert: { "loc-args": ["a\ufffdb\ufffdc"] } });
  });
});

test.each([
  ["device_state", challenge, { status: "active" }, now],
  ["device_state", words, { status: "pending" }, now],
  ["device_state", words, { status: "invalid" }, now],
  ["expired", words, {}, new Date(now.getTime() + DAY_MS)],
  ["unknown_kind", words, { kind: "toString" }, now],
  [null, challenge, { status: "pending" }, now],
  [null, words, {}, new Date(now.getTime() + DAY_MS - 1)],
] as const)("a delivery is cancelled: %s", (objection, message, change, at) => {
  expect(cancellationReason(outgoing(message, change), at)).toBe(objection);
});
