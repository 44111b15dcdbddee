import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Reply } from "@/dev/apns/fake-server";
import { type Apns, startApns } from "@/tests/support/push/apns";
import { BUNDLE_ID, newToken } from "@/tests/support/push/push";

const notification = (token = newToken(), changed: object = {}) => ({
  id: randomUUID(),
  token,
  environment: "production" as const,
  bundleId: BUNDLE_ID,
  pushType: "alert" as const,
  priority: 10,
  collapseId: null,
  expiresAt: new Date("2030-01-01T00:00:00.999Z"),
  body: JSON.stringify({ aps: { alert: { title: "A", body: "B" } }, data: { v: 1 } }),
  ...changed,
});
const OK = { status: 200, reason: null };
type Send = ReturnType<Apns["transport"]>["send"];

/** A fake APNs that replies so to a token. */
async function startReplying(...replies: Parameters<Apns["replyWith"]>[1][]) {
  const [apns, token] = [await startApns(), newToken()];
  apns.replyWith(token, ...replies);
  return { apns, token };
}

describe("a request to APNs", () => {
  test("has every header and the unchanged payload, over one connection", async () => {
    const apns = await startApns();
    const { send } = apns.transport();
    const push = notification(newToken(), { collapseId: "bill:1", priority: 5 });
    expect(await send(push)).toEqual(OK);
    expect(
      await send(
        notification(newToken(100), {
          pushType: "background",
          priority: 5,
          body: JSON.stringify({ aps: { "content-available": 1 } }),
        }),
      ),
    ).toEqual(OK);
    expect(apns.rejected).toEqual([]);
    expect(apns.sessions.size).toBe(1);
    expect(apns.received[0]).toMatchObject({
      id: push.id,
      token: push.token,
      payload: JSON.parse(push.body),
      headers: {
        "apns-id": push.id,
        "apns-topic": BUNDLE_ID,
        "apns-push-type": "alert",
        "apns-priority": "5",
        "apns-expiration": "1893456000",
        "apns-collapse-id": "bill:1",
        authorization: expect.stringMatching(/^bearer /),
      },
    });
    expect(apns.received[1]?.headers).not.toHaveProperty("apns-collapse-id");
  });

  test.each([
    ["BadPriority", { priority: 7 }],
    ["DeviceTokenNotForTopic", { bundleId: "com.example.other" }],
    ["InvalidPushType", { pushType: "background", priority: 5 }],
    ["PayloadEmpty", { body: "{}" }],
    ["PayloadTooLarge", { body: JSON.stringify({ aps: { alert: "x".repeat(4_096) } }) }],
  ])("is rejected for %s, as by Apple", async (reason, changed) => {
    const apns = await startApns();
    expect(await apns.transport().send(notification(newToken(), changed))).toMatchObject({ reason });
    expect(apns.rejected).toEqual([reason]);
  });

  test("uses a separate connection for each environment", async () => {
    const apns = await startApns();
    const { send } = apns.transport();
    await send(notification());
    await send(notification(newToken(), { environment: "sandbox" }));
    expect(apns.sessions.size).toBe(2);
  });
});

const resultOf = async (apns: Apns, reply: Exclude<Reply, string>) => {
  const token = newToken();
  apns.replyWith(token, reply);
  return apns.transport().send(notification(token));
};

describe("a response of APNs", () => {
  test.each([
    [400, "BadDeviceToken"],
    [503, "ServiceUnavailable"],
  ])("%d %s is returned unchanged, after one request", async (status, reason) => {
    const apns = await startApns();
    expect(await resultOf(apns, { status, reason })).toEqual({ status, reason });
    expect(apns.received).toHaveLength(1);
  });

  test("410 has the time since which the token is invalid", async () => {
    const timestamp = Date.parse("2026-11-20T10:00:00Z");
    const answer = await resultOf(await startApns(), { status: 410, reason: "Unregistered", timestamp });
    expect(answer).toEqual({ status: 410, reason: "Unregistered", timestamp: new Date(timestamp) });
  });

  const inAnHour = () => new Date(Date.now() + 3_600_000).toUTCString();
  test.each<[number, string, string, unknown]>([
    [503, "ServiceUnavailable", "30", 30],
    [429, "TooManyRequests", "0", 0],
    [500, "InternalServerError", inAnHour(), expect.closeTo(3_600, -2)],
    [503, "ServiceUnavailable", "soon", undefined],
    [503, "ServiceUnavailable", "1.5", undefined],
  ])("%d %s with a Retry-After of %s has the seconds to wait", async (status, reason, retryAfter, seconds) => {
    const answer = await resultOf(await startApns(), { status, reason, retryAfter });
    expect(answer).toMatchObject({ status, reason });
    expect(answer.retryAfterSeconds).toEqual(seconds);
  });

  test.each([1.5, null, "1795191490593"])("an invalid reason and an invalid time of %o are left out", async (time) => {
    const odd = { status: 410, reason: "Un\0registered".repeat(100), timestamp: time as number };
    expect(await resultOf(await startApns(), odd)).toEqual({ status: 410, reason: null });
  });

  // ASVS 11.2.3, 11.6.1, 13.2.1
  test("a provider token of another key is rejected", async () => {
    const [apns, other] = [await startApns(), await startApns()];
    const { send } = apns.transport({ key: other.env.APNS_KEY });
    expect(await send(notification())).toEqual({ status: 403, reason: "InvalidProviderToken" });
    expect(apns.rejected).toEqual(["InvalidProviderToken"]);
  });

  test("an expired provider token is replaced and the notification repeated", async () => {
    const { apns, token } = await startReplying({ status: 403, reason: "ExpiredProviderToken" });
    expect(await apns.transport().send(notification(token))).toEqual(OK);
    expect(apns.received).toHaveLength(2);
    const [old, renewed] = apns.received.map(({ headers }) => headers.authorization);
    expect(renewed).not.toBe(old);
  });

  test("a provider token that is rejected as expired again is not replaced twice", async () => {
    const expired = { status: 403, reason: "ExpiredProviderToken" };
    const { apns, token } = await startReplying(expired, expired);
    expect(await apns.transport().send(notification(token))).toEqual(expired);
    expect(apns.received).toHaveLength(2);
  });
});

describe("no response", () => {
  // ASVS 12.3.2
  test("an unreachable host is an error, and so is an untrusted certificate", async () => {
    const apns = await startApns();
    await expect(apns.transport({ ca: undefined }).send(notification())).rejects.toThrow();
    const { send } = apns.transport();
    await apns.close();
    await expect(send(notification())).rejects.toThrow();
  });

  test("a connection that breaks during a request is an error, and the next request uses a new one", async () => {
    const { apns, token } = await startReplying("hang up");
    const { send } = apns.transport();
    await expect(send(notification(token))).rejects.toThrow();
    expect(await send(notification())).toEqual(OK);
  });

  test("a late response is a TimeoutError", async () => {
    const { apns, token } = await startReplying("silence");
    await expect(apns.transport({ timeoutMs: 50 }).send(notification(token))).rejects.toMatchObject({
      name: "TimeoutError",
    });
  });

  test("after GOAWAY open requests still complete, and the next request uses a new connection", async () => {
    const apns = await startApns();
    const token = newToken();
    let answer = () => {};
    apns.replyWith(token, new Promise((resolve) => (answer = () => resolve({ status: 200 }))));
    const { send } = apns.transport();
    const underWay = send(notification(token));
    await expect.poll(() => apns.received.length).toBe(1);
    const [session] = apns.sessions;
    session?.goaway();
    expect(await send(notification()).catch(() => send(notification()))).toEqual(OK);
    expect(apns.sessions.size).toBe(2);
    answer();
    expect(await underWay).toEqual(OK);
    await expect.poll(() => [...apns.sessions]).not.toContain(session);
  });
});

describe("a connection without responses", () => {
  const TIMEOUT_MS = 1_000;
  const sendTogether = (send: Send, pushes: number) =>
    Promise.all(Array.from({ length: pushes }, () => send(notification()).catch((error: Error) => error.name)));
  const silence = (apns: Apns, pushes: number) => apns.replyWith("*", ...Array(pushes).fill("silence"));

  test("is closed with its open requests after three consecutive time-outs", async () => {
    const apns = await startApns();
    const { send } = apns.transport({ timeoutMs: TIMEOUT_MS });
    silence(apns, 4);
    const early = sendTogether(send, 3);
    await expect.poll(() => apns.received.length).toBe(3);
    const late = expect(send(notification())).rejects.toThrow("closed after time-outs");
    const [dead] = apns.sessions;
    expect(await early).toEqual(["TimeoutError", "TimeoutError", "TimeoutError"]);
    await late;
    await expect.poll(() => send(notification()).catch(() => null)).toEqual(OK);
    await expect.poll(() => [...apns.sessions]).not.toContain(dead);
  });

  test("stays open if a response arrived in between", async () => {
    const apns = await startApns();
    const { send } = apns.transport({ timeoutMs: TIMEOUT_MS });
    silence(apns, 2);
    await sendTogether(send, 2);
    await send(notification());
    const [kept] = apns.sessions;
    silence(apns, 2);
    await sendTogether(send, 2);
    expect([...apns.sessions]).toEqual([kept]);
  });

  test("is closed at most once a minute, without a new provider token", async () => {
    const apns = await startApns();
    let elapsedMs = 0;
    const { send } = apns.transport({ timeoutMs: TIMEOUT_MS, elapsedMs: () => elapsedMs });
    silence(apns, 3);
    await sendTogether(send, 3);
    silence(apns, 3);
    await sendTogether(send, 3);
    await expect.poll(() => send(notification()).catch(() => null)).toEqual(OK);
    const [second] = apns.sessions;
    silence(apns, 3);
    await sendTogether(send, 3);
    expect([...apns.sessions]).toEqual([second]);
    elapsedMs = 60_000;
    silence(apns, 1);
    await sendTogether(send, 1);
    await expect.poll(() => send(notification()).catch(() => null)).toEqual(OK);
    await expect.poll(() => [...apns.sessions]).not.toContain(second);
    expect(new Set(apns.received.map(({ headers }) => headers.authorization)).size).toBe(1);
  });
});
