import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import type { Reply } from "@/dev/apns/fake-server";
import { createSender, type SenderDeps } from "@/lib/push/worker/sender";
import { clock, ctx } from "@/tests/support/context";
import { startApns } from "@/tests/support/push/apns";
import { clearOutbox, deliverDue, queueFor, recordingPush, withStatements } from "@/tests/support/push/push";

const MINUTE_MS = 60 * 1000;
const HOUR_MS = 60 * MINUTE_MS;

beforeEach(clearOutbox);

/** Queues one notification, has APNs answer so, and returns what became of it and of its device. */
async function answered(...replies: Reply[]) {
  const apns = await startApns();
  const { devices, rows } = await queueFor(1);
  const token = devices[0]?.token ?? "";
  apns.replyWith(token, ...replies);
  await deliverDue({ push: apns.transport(replies.includes("silence") ? { timeoutMs: 1_000 } : {}) });
  const [row] = await rows();
  if (!row) throw new Error("no row");
  const device = await ctx().db.pushDevice.findFirstOrThrow({ where: { token } });
  const pause = await ctx().db.pushPause.findFirst();
  const waitsMs = row.nextAttemptAt.getTime() - clock.now().getTime();
  return { row, device, pause, waitsMs, asked: apns.received.length, refused: apns.rejected };
}

describe("the responses of APNs", () => {
  test("200: the delivery is sent, and the device records when", async () => {
    const { row, device, asked, refused } = await answered({ status: 200 });
    expect(row).toMatchObject({ state: "sent", apnsStatus: 200, reason: null, attempts: 1, leaseUntil: null });
    expect(device).toMatchObject({ status: "active", lastDeliveredAt: row.sentAt });
    expect({ asked, refused }).toEqual({ asked: 1, refused: [] });
  });

  test.each([
    [410, "Unregistered", "invalid"],
    [400, "BadDeviceToken", "invalid"],
    [413, "PayloadTooLarge", "active"],
  ])("%d %s: the delivery fails, and its device is %s", async (apnsStatus, reason, status) => {
    const since = apnsStatus === 410 ? { timestamp: Date.now() + HOUR_MS } : {};
    const { row, device } = await answered({ status: apnsStatus, reason, ...since });
    expect(row).toMatchObject({ state: "failed", apnsStatus, reason, attempts: 1 });
    expect(device).toMatchObject({ status, invalidReason: status === "invalid" ? reason : null });
  });

  test("410 from before the app registered again: the device stays valid", async () => {
    const { row, device } = await answered({ status: 410, reason: "Unregistered", timestamp: Date.now() - HOUR_MS });
    expect(row).toMatchObject({ state: "failed", apnsStatus: 410 });
    expect(device).toMatchObject({ status: "active", invalidReason: null });
  });

  const expired = { status: 403, reason: "ExpiredProviderToken" };
  test.each<[number, string, Reply[]]>([
    [5, "403 InvalidProviderToken", [{ status: 403, reason: "InvalidProviderToken" }]],
    [5, "403 ExpiredProviderToken", [expired, expired]],
    [20, "429 TooManyProviderTokenUpdates", [{ status: 429, reason: "TooManyProviderTokenUpdates" }]],
  ])(
    "the environment is paused for %d minutes after %s, and no attempt is counted",
    async (minutes, reason, replies) => {
      const { row, device, pause, waitsMs } = await answered(...replies);
      expect(row).toMatchObject({ state: "queued", attempts: 0, leaseUntil: null });
      expect(device.status).toBe("active");
      expect(pause).toMatchObject({ environment: "production", reason });
      const pausedMs = (pause?.until.getTime() ?? 0) - clock.now().getTime();
      expect(pausedMs).toBeGreaterThan((minutes - 1) * MINUTE_MS);
      expect(pausedMs).toBeLessThanOrEqual(minutes * MINUTE_MS);
      expect(waitsMs).toBeGreaterThanOrEqual(pausedMs);
      expect(waitsMs).toBeLessThanOrEqual(pausedMs + MINUTE_MS);
    },
  );

  test.each<[string, Reply, number, object]>([
    ["429 TooManyRequests", { status: 429, reason: "TooManyRequests" }, MINUTE_MS, { apnsStatus: 429 }],
    [
      "503 with a Retry-After of 30 seconds",
      { status: 503, reason: "ServiceUnavailable", retryAfter: "30" },
      45_000,
      { reason: "ServiceUnavailable" },
    ],
    ["a broken connection", "hang up", 5_000, { apnsStatus: null, reason: "unreachable" }],
    ["a time-out", "silence", 5_000, { apnsStatus: null, reason: "timeout" }],
  ])("the delivery is retried after %s", async (_, reply, mostMs, fields) => {
    const { row, device, waitsMs, asked } = await answered(reply);
    expect(row).toMatchObject({ state: "queued", attempts: 1, leaseUntil: null, sentAt: null, ...fields });
    expect(waitsMs).toBeLessThanOrEqual(mostMs);
    expect(device.status).toBe("active");
    expect(asked).toBe(1);
  });
});

test("an hour without APNs loses no notification", async () => {
  const { rows } = await queueFor(20);
  const [dead, alive] = [recordingPush(() => Promise.reject(new Error("no route to host"))), recordingPush()];
  for (let minutes = 0; minutes < 4 * 60; minutes += 5) {
    await deliverDue({ push: minutes < 60 ? dead.push : alive.push });
    clock.advance(5 * MINUTE_MS);
  }
  expect(dead.sent.length).toBeGreaterThan(4 * 20);
  expect(alive.sent).toHaveLength(20);
  expect((await rows()).every(({ state, attempts }) => state === "sent" && attempts <= 8)).toBe(true);
});

test("deliveries that failed together are retried at different times", async () => {
  const apns = await startApns();
  const { rows } = await queueFor(20);
  apns.replyWith("*", ...Array(20).fill({ status: 503, reason: "ServiceUnavailable" }));
  await deliverDue({ push: apns.transport() });
  const due = (await rows()).map(({ nextAttemptAt }) => nextAttemptAt.getTime());
  expect(Math.max(...due) - Math.min(...due)).toBeGreaterThan(MINUTE_MS);
});

describe("a pause", () => {
  test("applies to later deliveries and to other workers, ends by itself, and does not affect the other environment", async () => {
    const apns = await startApns();
    const push = apns.transport();
    apns.replyWith("*", { status: 403, reason: "InvalidProviderToken" });
    const first = await queueFor(1);
    await deliverDue({ push });
    const [late, other] = [await queueFor(1), await queueFor(1, { environment: "sandbox" })];
    await deliverDue({ push });
    expect(await late.rows()).toMatchObject([{ state: "queued", attempts: 0 }]);
    expect(await other.rows()).toMatchObject([{ state: "sent" }]);
    expect(apns.received).toHaveLength(2);
    clock.advance(6 * MINUTE_MS);
    await deliverDue({ push });
    expect(await first.rows()).toMatchObject([{ state: "sent", attempts: 1 }]);
    expect(await late.rows()).toMatchObject([{ state: "sent", attempts: 1 }]);
  });

  test("applies to deliveries that are claimed while it is being stored", async () => {
    let writeDown = () => {};
    const gate = new Promise<void>((resolve) => {
      writeDown = resolve;
    });
    const slow = withStatements((sql) => sql.includes('"PushPause"') && gate);
    const { push, sent } = recordingPush(async () => ({ status: 403, reason: "InvalidProviderToken" }));
    const sender = createSender({ ...(ctx() as SenderDeps), push, db: slow });
    await queueFor(1);
    await sender.claimAndSend();
    await expect.poll(() => sent.length).toBe(1);
    const late = await queueFor(1);
    await sender.claimAndSend();
    writeDown();
    await sender.finish();
    expect(sent).toHaveLength(1);
    expect(await late.rows()).toMatchObject([{ state: "queued", attempts: 0 }]);
  });

  test("applies at once to its own worker's claims", async () => {
    const apns = await startApns();
    const { rows } = await queueFor(5);
    apns.replyWith("*", { status: 403, reason: "InvalidProviderToken" });
    await deliverDue({ push: apns.transport(), config: { ...ctx().config, PUSH_CONCURRENCY: 1 } });
    expect(apns.received).toHaveLength(1);
    expect(await rows()).toMatchObject(Array(5).fill({ state: "queued", attempts: 0, leaseUntil: null }));
  });
});

describe("the circuit breaker", () => {
  const unknown = { status: 400, reason: "BadDeviceToken" };

  test("pauses the environment and logs it, so that a wrong key or host does not invalidate every device", async () => {
    const apns = await startApns();
    const { devices, rows } = await queueFor(40);
    apns.replyWith("*", ...Array(40).fill(unknown));
    const lines: string[] = [];
    await deliverDue({
      push: apns.transport(),
      config: { ...ctx().config, PUSH_CONCURRENCY: 1 },
      log: pino({}, { write: (line: string) => void lines.push(line) }),
    });
    const ids = devices.map(({ id }) => id);
    expect(await ctx().db.pushDevice.count({ where: { id: { in: ids }, status: "invalid" } })).toBe(10);
    expect((await rows()).filter(({ state }) => state === "failed")).toHaveLength(10);
    expect((await rows()).filter(({ state, attempts }) => state === "queued" && attempts === 0)).toHaveLength(30);
    expect(apns.received).toHaveLength(11);
    expect(await ctx().db.pushPause.findFirst()).toMatchObject({
      environment: "production",
      reason: "400 BadDeviceToken",
    });
    expect(lines.filter((line) => JSON.parse(line).level >= 50)).toHaveLength(1);
    const logged = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "notifications not delivered");
    expect(logged.reduce((sum, { rows }) => sum + rows, 0)).toBe(10); // not those that only wait for the pause
  });

  test("invalidates no more devices when many responses arrive at the same time", async () => {
    const apns = await startApns();
    const { devices } = await queueFor(40);
    apns.replyWith("*", ...Array(40).fill(unknown));
    await deliverDue({ push: apns.transport() });
    const ids = devices.map(({ id }) => id);
    expect(await ctx().db.pushDevice.count({ where: { id: { in: ids }, status: "invalid" } })).toBe(10);
  });

  test("does not count unverified devices, since anyone can register a made-up token", async () => {
    const apns = await startApns();
    const { rows } = await queueFor(40);
    const kind = "push.challenge";
    await ctx().db.pushMessage.updateMany({
      where: { id: { in: (await rows()).map(({ messageId }) => messageId) } },
      data: { kind },
    });
    await ctx().db.pushDevice.updateMany({
      where: { id: { in: (await rows()).map(({ deviceId }) => deviceId) } },
      data: { status: "pending" },
    });
    apns.replyWith("*", ...Array(40).fill(unknown));
    await deliverDue({ push: apns.transport() });
    expect((await rows()).filter(({ state }) => state === "failed")).toHaveLength(40);
    expect(await ctx().db.pushPause.count()).toBe(0);
  });
});

// ASVS 14.2.4
test("no log line contains a token or the text of a notification", async () => {
  const apns = await startApns();
  const { devices } = await queueFor(4);
  apns.replyWith("*", { status: 400, reason: "BadTopic" }, { status: 503, reason: "ServiceUnavailable" }, "hang up");
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  await deliverDue({ push: apns.transport({}, log), log });
  expect(lines.length).toBeGreaterThan(2);
  for (const { token } of devices) expect(lines.join()).not.toContain(token);
  expect(lines.join()).not.toContain("A body");
});
