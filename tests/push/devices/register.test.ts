import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, post } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import {
  BUNDLE_ID,
  deviceRow,
  deviceRowsOf,
  insertDevices,
  newToken,
  recordingPush,
  registeredDevice,
  registerPush,
} from "@/tests/support/push/push";

const MINUTE_MS = 60 * 1000;

describe("a first registration", () => {
  test("is pending, with a challenge of 15 minutes", async () => {
    const account = await newAccount();
    const token = newToken();
    const response = await registerPush(account, { token });
    expect(response.status).toBe(202);
    const { device, challenge } = await response.json();
    expect(device).toEqual({
      id: expect.any(String),
      status: "pending",
      environment: "production",
      bundleId: BUNDLE_ID,
      name: null,
      model: null,
      osVersion: null,
      appVersion: null,
      locale: null,
      tokenSuffix: token.slice(-4),
      createdAt: expect.any(String),
      verifiedAt: null,
      lastSeenAt: device.createdAt,
      lastDeliveredAt: null,
      invalidReason: null,
      pendingReason: null,
      current: true,
    });
    expect(Buffer.from(challenge.value, "base64url")).toHaveLength(32);
    expect(Date.parse(challenge.expiresAt) - Date.parse(device.createdAt)).toBe(15 * MINUTE_MS);
  });

  test("stores the app's details, trimmed, and the session that registered it", async () => {
    const account = await newAccount();
    const installationId = randomUUID();
    const { device } = await registeredDevice(account, {
      installationId: installationId.toUpperCase(),
      environment: "sandbox",
      bundleId: BUNDLE_ID,
      device: {
        name: "  Ann's iPhone ",
        model: "iPhone18,1",
        osVersion: "26.1",
        locale: "de-CH",
        timeZone: "Asia/Tokyo",
      },
    });
    expect(device).toMatchObject({ environment: "sandbox", name: "Ann's iPhone", osVersion: "26.1", locale: "de-CH" });
    expect(await deviceRow(device.id)).toMatchObject({
      installationId,
      sessionId: account.sessionId,
      timeZone: "Asia/Tokyo",
    });
  });

  test("sends the nonce to the device alone, by a background push, and stores only its hash", async () => {
    const account = await newAccount();
    const token = newToken();
    const { push, sent } = recordingPush();
    const response = await withContext({ push }, () => registerPush(account, { token }));
    const text = await response.text();
    const { device, challenge } = JSON.parse(text);
    expect(sent).toEqual([
      {
        id: expect.any(String),
        token,
        environment: "production",
        bundleId: BUNDLE_ID,
        pushType: "background",
        priority: 5,
        collapseId: null,
        expiresAt: new Date(challenge.expiresAt),
        payload: {
          aps: { "content-available": 1 },
          data: {
            v: 1,
            id: sent[0]?.id,
            kind: "push.challenge",
            challengeId: challenge.id,
            nonce: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
          },
        },
      },
    ]);
    const { nonce } = JSON.parse(JSON.stringify(sent[0]?.payload)).data;
    expect(text).not.toContain(nonce);
    const row = await ctx().db.pushChallenge.findUniqueOrThrow({ where: { id: challenge.id } });
    expect(row).toMatchObject({ deviceId: device.id, value: challenge.value, usedAt: null });
    expect(row.nonceHash).toBe(createHash("sha256").update(nonce).digest("hex"));
    const [delivery] = await deliveriesOf({ id: sent[0]?.id });
    expect(delivery).toMatchObject({
      state: "sent",
      apnsStatus: 200,
      attempts: 1,
      eventKey: `challenge:${challenge.id}`,
      leaseUntil: null,
    });
    expect(JSON.stringify(delivery?.payload)).not.toContain(nonce);
    expect((await deviceRow(device.id)).lastDeliveredAt).toEqual(delivery?.sentAt);
  });

  test("writes its notification to the outbox folder when APNs is not configured", async () => {
    const { challenge } = await registeredDevice(await newAccount());
    const [{ id } = { id: "" }] = await deliveriesOf({ eventKey: `challenge:${challenge?.id}` });
    const folder = path.join(ctx().config.DATA_DIR, "outbox");
    const file = (await readdir(folder)).find((name) => name.endsWith(`${id}.push.json`));
    expect(JSON.parse(await readFile(path.join(folder, `${file}`), "utf8"))).toMatchObject({
      payload: { data: { challengeId: challenge?.id } },
    });
  });
});

describe("a registration is rejected:", () => {
  test("without a session", async () => {
    const response = await post("/api/push/register", { token: newToken() });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: "unauthenticated" });
  });

  test.each([
    ["no token", {}, "/token"],
    ["a token of an odd length", { token: `${newToken()}a` }, "/token"],
    ["a token of 62 digits", { token: newToken(31) }, "/token"],
    ["a token of 1 KiB", { token: newToken(512) }, "/token"],
    ["a token that is not hex", { token: "g".repeat(64) }, "/token"],
    ["a token with a line break", { token: `${newToken()}\n` }, "/token"],
    ["a token that is a number", { token: 12 }, "/token"],
    ["a bundle that is not ours", { token: newToken(), bundleId: "com.example.other" }, "/bundleId"],
    ["an environment that there is not", { token: newToken(), environment: "staging" }, "/environment"],
    ["an installation id that is no UUID", { token: newToken(), installationId: "1" }, "/installationId"],
    ["a name of 65 characters", { token: newToken(), device: { name: "n".repeat(65) } }, "/device/name"],
    ["a locale of 36 characters", { token: newToken(), device: { locale: "l".repeat(36) } }, "/device/locale"],
    [
      "an app version of 33 characters",
      { token: newToken(), device: { appVersion: "1".repeat(33) } },
      "/device/appVersion",
    ],
    ["a model that is a list", { token: newToken(), device: { model: ["iPhone"] } }, "/device/model"],
    ["a device that is text", { token: newToken(), device: "iPhone" }, "/device"],
    ["NUL in a name", { token: newToken(), device: { name: "a\0b" } }, "/device/name"],
    ["a list", [], ""],
    ["null", null, ""],
  ])("%s is 422 and writes nothing", async (_, json, pointer) => {
    const account = await newAccount();
    const response = await registerPush(account, json);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: "validation_failed", errors: [{ pointer }] });
    expect(await deviceRowsOf(account)).toEqual([]);
  });

  test("a body of 33 KiB is 413", async () => {
    const response = await registerPush(await newAccount(), { token: newToken(), padding: "x".repeat(33 * 1024) });
    expect(response.status).toBe(413);
  });

  test("a body of 31 KiB is not too large", async () => {
    const response = await registerPush(await newAccount(), { token: newToken(), padding: "x".repeat(31 * 1024) });
    expect(response.status).toBe(202);
  });

  test("while push is not configured, and writes nothing", async () => {
    const account = await newAccount();
    const response = await withContext({ push: null }, () => registerPush(account, { token: newToken() }));
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "push_not_configured" });
    expect(await deviceRowsOf(account)).toEqual([]);
  });

  test("for a 21st device, while the other 20 can still register again", async () => {
    const account = await newAccount();
    const tokens = Array.from({ length: 20 }, () => newToken());
    await insertDevices(account, tokens);
    const refused = await registerPush(account, { token: newToken() });
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ code: "device_limit_reached" });
    expect((await registerPush(account, { token: tokens[7] })).status).toBe(202);
    expect(await deviceRowsOf(account)).toHaveLength(20);
  });

  test("for a fourth challenge within an hour, which leaves the device unchanged", async () => {
    const account = await newAccount();
    const token = newToken();
    for (const name of ["one", "two", "three"]) await registeredDevice(account, { token, device: { name } });
    const response = await registerPush(account, { token, device: { name: "four" } });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await deviceRowsOf(account)).toMatchObject([{ name: "three" }]);
    expect((await registerPush(account, { token: newToken() })).status).toBe(202);
  });
});

describe("a challenge that does not reach its device", () => {
  const registerWith = (push: Parameters<typeof recordingPush>[0], account: TestAccount, json: object) =>
    withContext({ push: recordingPush(push).push }, async () => (await registerPush(account, json)).json());
  const listed = async ({ token }: TestAccount) =>
    (await (await call("GET", "/api/push/devices", { token })).json()).devices;
  const ok = async () => ({ status: 200, reason: null });

  test.each<[string, Parameters<typeof recordingPush>[0]]>([
    ["BadDeviceToken", async () => ({ status: 400, reason: "BadDeviceToken" })],
    ["TopicDisallowed", async () => ({ status: 400, reason: "TopicDisallowed" })],
    ["paused", async () => ({ status: 403, reason: "InvalidProviderToken" })],
    ["unreachable", () => Promise.reject(new Error("out of reach"))],
  ])("is reported as %s by the next 202 response and in the list of devices", async (pendingReason, push) => {
    const account = await newAccount();
    const json = { token: newToken(), installationId: randomUUID() };
    expect(await registerWith(push, account, json)).toMatchObject({ device: { pendingReason: null } });
    const again = await registerWith(push, account, json);
    expect(again).toMatchObject({ device: { status: "pending", pendingReason } });
    await ctx().db.pushDevice.update({ where: { id: again.device.id }, data: { status: "pending" } });
    expect(await listed(account)).toMatchObject([{ status: "pending", pendingReason }]);
    const moved = await registerWith(push, account, { ...json, token: newToken() });
    expect(moved).toMatchObject({ device: { id: again.device.id, pendingReason: null } });
  });

  test("is not reported any more once APNs accepted the next one", async () => {
    const account = await newAccount();
    const json = { token: newToken() };
    await registerWith(async () => ({ status: 400, reason: "BadDeviceToken" }), account, json);
    await registerWith(ok, account, json);
    expect(await listed(account)).toMatchObject([{ status: "pending", pendingReason: null }]);
  });
});

describe("a challenge that is not sent", () => {
  test("leaves the registration unchanged and its delivery queued", async () => {
    const { push } = recordingPush(async () => {
      throw new Error("out of reach");
    });
    const account = await newAccount();
    const response = await withContext({ push }, () => registerPush(account, { token: newToken() }));
    expect(response.status).toBe(202);
    const { challenge } = await response.json();
    const [row] = await deliveriesOf({ eventKey: `challenge:${challenge.id}` });
    expect(row).toMatchObject({ state: "queued", attempts: 1, leaseUntil: null, sentAt: null });
    expect(row && row.nextAttemptAt > row.createdAt).toBe(true);
    expect(row?.payload).toMatchObject({ data: { challengeId: challenge.id } });
  });

  test("is stored as failed with APNs's status and reason, if APNs rejected it", async () => {
    const { push } = recordingPush(async () => ({ status: 400, reason: "BadDeviceToken" }));
    const { device, challenge } = await withContext({ push }, async () => registeredDevice(await newAccount()));
    expect(await deliveriesOf({ eventKey: `challenge:${challenge?.id}` })).toMatchObject([
      { state: "failed", apnsStatus: 400, reason: "BadDeviceToken", attempts: 1, payload: {} },
    ]);
    expect((await deviceRow(device.id)).lastDeliveredAt).toBeNull();
  });
});
