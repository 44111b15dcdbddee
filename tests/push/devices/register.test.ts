import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import {
  activate,
  activatedDevice,
  BUNDLE_ID,
  deviceRow,
  deviceRowsOf,
  insertDevices,
  newToken,
  recordingPush,
  registeredDevice,
  registerPush,
} from "@/tests/support/push/push";

/** A new account and an unused token for each test. */
let account: TestAccount;
let token: string;
beforeEach(async () => {
  account = await newAccount();
  token = newToken();
});

const MINUTE_MS = 60 * 1000;

describe("a first registration", () => {
  test("is pending, with a challenge of 15 minutes", async () => {
    const response = await registerPush(account, { token });
    expect(response.status).toBe(202);
    const { device, challenge } = await response.json();
    const { id: _, createdAt, ...registered } = device;
    const values = { environment: "production", bundleId: BUNDLE_ID, tokenSuffix: token.slice(-4), current: true };
    expect(registered).toMatchObject({ ...values, status: "pending", lastSeenAt: createdAt, verifiedAt: null });
    expect(JSON.stringify(device)).not.toContain(token);
    expect(Buffer.from(challenge.value, "base64url")).toHaveLength(32);
    expect(Date.parse(challenge.expiresAt) - Date.parse(device.createdAt)).toBe(15 * MINUTE_MS);
  });

  test("stores the app's details, trimmed, and the session that registered it", async () => {
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
  test.each([
    ["no token", {}, "/token"],
    ["a token of an odd length", { token: `${newToken()}a` }, "/token"],
    ["a token of 62 digits", { token: newToken(31) }, "/token"],
    ["a token of 1 KiB", { token: newToken(512) }, "/token"],
    ["a token with a line break", { token: `${newToken()}\n` }, "/token"],
    ["a bundle that is not ours", { token: newToken(), bundleId: "com.example.other" }, "/bundleId"],
    ["an environment that there is not", { token: newToken(), environment: "staging" }, "/environment"],
    ["an installation id that is no UUID", { token: newToken(), installationId: "1" }, "/installationId"],
    ["a name of 65 characters", { token: newToken(), device: { name: "n".repeat(65) } }, "/device/name"],
    ["a device that is text", { token: newToken(), device: "iPhone" }, "/device"],
    ["NUL in a name", { token: newToken(), device: { name: "a\0b" } }, "/device/name"],
    ["a list", [], ""],
  ])("%s is 422 and writes nothing", async (_, json, pointer) => {
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
    const response = await withContext({ push: null }, () => registerPush(account, { token: newToken() }));
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "push_not_configured" });
    expect(await deviceRowsOf(account)).toEqual([]);
  });

  test("for a 21st device, while the other 20 can still register again", async () => {
    const tokens = Array.from({ length: 20 }, () => newToken());
    await insertDevices(account, tokens);
    const refused = await registerPush(account, { token: newToken() });
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ code: "device_limit_reached" });
    expect((await registerPush(account, { token: tokens[7] })).status).toBe(202);
    expect(await deviceRowsOf(account)).toHaveLength(20);
  });

  test("for a fourth challenge within an hour, which leaves the device unchanged", async () => {
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
    ["paused", async () => ({ status: 403, reason: "InvalidProviderToken" })],
    ["unreachable", () => Promise.reject(new Error("out of reach"))],
  ])("is reported as %s by the next 202 response and in the list of devices", async (pendingReason, push) => {
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
});

describe("registering again", () => {
  test("the same token, in upper or lower case, is the same device, and only given fields change", async () => {
    const first = await registeredDevice(account, { token, device: { name: "Old", model: "iPhone18,1" } });
    clock.advance(MINUTE_MS);
    const again = await registeredDevice(account, { token: token.toUpperCase(), device: { name: "New" } });
    expect(again.device).toMatchObject({ id: first.device.id, name: "New", model: "iPhone18,1" });
    expect(again.device.createdAt).toBe(first.device.createdAt);
    expect(again.device.lastSeenAt).not.toBe(first.device.lastSeenAt);
    expect(again.challenge?.id).not.toBe(first.challenge?.id);
    expect(await deviceRowsOf(account)).toHaveLength(1);
  });

  test("an active device with the same token stays active and gets no challenge, however often it registers", async () => {
    const { account, device } = await activatedDevice({ token });
    const { push, sent } = recordingPush();
    const response = await withContext({ push }, () => registerPush(account, { token, device: { name: "Mine" } }));
    expect(response.status).toBe(200);
    const body = await response.json();
    expect(body).toMatchObject({ device: { id: device.id, status: "active", name: "Mine" } });
    expect(body).not.toHaveProperty("challenge");
    for (let n = 0; n < 4; n += 1) expect((await registerPush(account, { token })).status).toBe(200);
    expect(sent).toEqual([]);
  });

  test.each([
    ["token", { token: newToken() }],
    ["environment", { environment: "sandbox" }],
    ["app", { bundleId: "com.example.other" }],
  ])("an active device stays active until its installation is verified with another %s", async (_, change) => {
    const known = { token: newToken(), installationId: randomUUID() };
    const { account, device } = await activatedDevice(known);
    const config = { APNS_BUNDLE_IDS: [BUNDLE_ID, "com.example.other"] };
    const claims = [await withContext({ config }, () => registeredDevice(account, { ...known, ...change }))];
    claims.push(await registeredDevice(account, { ...known, token: newToken() }));
    expect(claims).toMatchObject(Array(2).fill({ device: { status: "pending", verifiedAt: null }, challenge: {} }));
    expect(claims[0]?.device.bundleId).toBe("bundleId" in change ? change.bundleId : BUNDLE_ID);
    expect(claims[1]?.device.id).toBe(claims[0]?.device.id);
    expect(await deviceRow(device.id)).toMatchObject({
      status: "active",
      token: known.token,
      keyId: "key",
      keyCounter: 1n,
    });
    expect((await registerPush(account, known)).status).toBe(200);
    expect(await deviceRowsOf(account)).toHaveLength(2);
  });

  test("a device that is not active keeps its key when its token changes, and loses it with its environment", async () => {
    const known = { token: newToken(), installationId: randomUUID() };
    const { account, device } = await activatedDevice(known);
    await ctx().db.pushDevice.update({ where: { id: device.id }, data: { status: "invalid" } });
    await registeredDevice(account, { ...known, token: newToken() });
    expect(await deviceRowsOf(account)).toMatchObject([
      { id: device.id, status: "pending", keyId: "key", keyCounter: 1n },
    ]);
    await registeredDevice(account, { ...known, environment: "sandbox" });
    expect(await deviceRowsOf(account)).toMatchObject([
      { id: device.id, keyId: null, publicKey: null, keyCounter: null },
    ]);
  });

  test("an invalid device becomes pending", async () => {
    const { device } = await registeredDevice(account, { token });
    await ctx().db.pushDevice.update({
      where: { id: device.id },
      data: { status: "invalid", invalidReason: "Unregistered" },
    });
    expect((await registeredDevice(account, { token })).device).toMatchObject({
      id: device.id,
      status: "pending",
      invalidReason: null,
    });
  });

  test("an installation that registers a pending device's token replaces that device", async () => {
    const [installationId, token] = [randomUUID(), newToken()];
    const installed = await registeredDevice(account, { installationId });
    await registeredDevice(account, { token, installationId: randomUUID() });
    const merged = await registeredDevice(account, { token, installationId });
    expect(merged.device).toMatchObject({ id: installed.device.id, status: "pending" });
    expect(await deviceRowsOf(account)).toMatchObject([{ id: installed.device.id, token, installationId }]);
  });

  test("an active device stays active with a new installation id, or another device's", async () => {
    const [token, others] = [newToken(), randomUUID()];
    await registeredDevice(account, { installationId: others });
    const { device } = await registeredDevice(account, { token, installationId: randomUUID() });
    await activate(device.id);
    for (const installationId of [randomUUID(), others]) {
      expect((await registeredDevice(account, { token, installationId })).device).toMatchObject({ id: device.id });
      expect(await deviceRow(device.id)).toMatchObject({ status: "active", installationId });
    }
  });
});

describe("concurrent registrations", () => {
  test.each([
    ["one installation with two tokens", () => ({ token: newToken() })],
    ["two installations with one token", () => ({ installationId: randomUUID() })],
  ])("of %s end with one device", async (_, change) => {
    const known = { token: newToken(), installationId: randomUUID() };
    const responses = await Promise.all([known, { ...known, ...change() }].map((json) => registerPush(account, json)));
    expect(responses.map(({ status }) => status)).toEqual([202, 202]);
    expect(await deviceRowsOf(account)).toHaveLength(1);
  });

  test("of one token get three challenges in total", async () => {
    const responses = await Promise.all([1, 2, 3, 4, 5, 6].map(() => registerPush(account, { token })));
    expect(responses.map(({ status }) => status).sort()).toEqual([202, 202, 202, 429, 429, 429]);
    expect(await deviceRowsOf(account)).toHaveLength(1);
    expect(await ctx().db.pushChallenge.count({ where: { device: { accountId: account.id } } })).toBe(3);
  });

  test("with installation ids that move between devices at most double the device limit", async () => {
    const installationId = randomUUID();
    const tokens = Array.from({ length: 39 }, newToken);
    await insertDevices(account, tokens);
    await ctx().db.pushDevice.updateMany({ where: { token: tokens[0] }, data: { installationId, status: "active" } });
    const [first, second] = [newToken(), newToken()];
    expect((await registerPush(account, { token: first, installationId })).status).toBe(202);
    expect((await registerPush(account, { token: first, installationId: randomUUID() })).status).toBe(202);
    const response = await registerPush(account, { token: second, installationId });
    expect(await response.json()).toMatchObject({ status: 409, code: "device_limit_reached" });
    expect(await deviceRowsOf(account)).toHaveLength(40);
  });
});

test("deleting and registering a device again creates no extra challenges and does not limit other accounts", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const token = newToken();
  for (let i = 0; i < 3; i++) {
    const { device } = await registeredDevice(ann, { token });
    expect((await call("DELETE", `/api/push/devices/${device.id}`, { token: ann.token })).status).toBe(204);
  }
  expect((await registerPush(ann, { token })).status).toBe(429);
  expect((await registerPush(bob, { token })).status).toBe(202);
});
