import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import {
  activate,
  deviceRow,
  deviceRowsOf,
  insertDevices,
  newToken,
  recordingPush,
  registeredDevice,
  registerPush,
} from "@/tests/support/push/push";

const MINUTE_MS = 60 * 1000;

describe("registering again", () => {
  test("the same token, in upper or lower case, is the same device, and only given fields change", async () => {
    const account = await newAccount();
    const token = newToken();
    const first = await registeredDevice(account, { token, device: { name: "Old", model: "iPhone18,1" } });
    clock.advance(MINUTE_MS);
    const again = await registeredDevice(account, { token: token.toUpperCase(), device: { name: "New" } });
    expect(again.device).toMatchObject({ id: first.device.id, name: "New", model: "iPhone18,1" });
    expect(again.device.createdAt).toBe(first.device.createdAt);
    expect(again.device.lastSeenAt).not.toBe(first.device.lastSeenAt);
    expect(again.challenge?.id).not.toBe(first.challenge?.id);
    expect(await deviceRowsOf(account)).toHaveLength(1);
  });

  test("an active device with the same token stays active and gets no challenge", async () => {
    const account = await newAccount();
    const token = newToken();
    const { device } = await registeredDevice(account, { token });
    await activate(device.id);
    const { push, sent } = recordingPush();
    const response = await withContext({ push }, () => registerPush(account, { token, device: { name: "Mine" } }));
    expect(response.status).toBe(200);
    const body = await response.json();
    expect(body).toMatchObject({ device: { id: device.id, status: "active", name: "Mine" } });
    expect(body).not.toHaveProperty("challenge");
    expect(sent).toEqual([]);
  });

  test("an active device can register more often than challenges are created", async () => {
    const account = await newAccount();
    const token = newToken();
    await activate((await registeredDevice(account, { token })).device.id);
    for (let n = 0; n < 5; n += 1) expect((await registerPush(account, { token })).status).toBe(200);
  });

  test.each([
    ["token", { token: newToken() }],
    ["environment", { environment: "sandbox" }],
  ])("an active device stays active until its installation is verified with another %s", async (_, change) => {
    const account = await newAccount();
    const known = { token: newToken(), installationId: randomUUID() };
    const { device } = await registeredDevice(account, known);
    await activate(device.id);
    const claims = [await registeredDevice(account, { ...known, ...change })];
    claims.push(await registeredDevice(account, { ...known, token: newToken() }));
    expect(claims).toMatchObject(Array(2).fill({ device: { status: "pending", verifiedAt: null }, challenge: {} }));
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
    const account = await newAccount();
    const known = { token: newToken(), installationId: randomUUID() };
    const { device } = await registeredDevice(account, known);
    await activate(device.id);
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

  test("a nonce that was sent to the old token is invalid for the new one", async () => {
    const account = await newAccount();
    const installationId = randomUUID();
    const failing = recordingPush(async () => {
      throw new Error("out of reach");
    });
    const old = await withContext({ push: failing.push }, () => registeredDevice(account, { installationId }));
    const { challenge } = await registeredDevice(account, { installationId });
    const deviceId = old.device.id;
    expect(await ctx().db.pushChallenge.findMany({ where: { deviceId } })).toMatchObject([{ id: challenge?.id }]);
    expect(await deliveriesOf({ eventKey: `challenge:${old.challenge?.id}` })).toMatchObject([{ state: "cancelled" }]);
  });

  test("an invalid device becomes pending", async () => {
    const account = await newAccount();
    const token = newToken();
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
    const account = await newAccount();
    const [installationId, token] = [randomUUID(), newToken()];
    const installed = await registeredDevice(account, { installationId });
    await registeredDevice(account, { token, installationId: randomUUID() });
    const merged = await registeredDevice(account, { token, installationId });
    expect(merged.device).toMatchObject({ id: installed.device.id, status: "pending" });
    expect(await deviceRowsOf(account)).toMatchObject([{ id: installed.device.id, token, installationId }]);
  });

  test("an active device stays active with a new installation id, or another device's", async () => {
    const account = await newAccount();
    const [token, others] = [newToken(), randomUUID()];
    await registeredDevice(account, { installationId: others });
    const { device } = await registeredDevice(account, { token, installationId: randomUUID() });
    await activate(device.id);
    for (const installationId of [randomUUID(), others]) {
      expect((await registeredDevice(account, { token, installationId })).device).toMatchObject({ id: device.id });
      expect(await deviceRow(device.id)).toMatchObject({ status: "active", installationId });
    }
  });

  test("a token in another environment is another device", async () => {
    const account = await newAccount();
    const token = newToken();
    await registeredDevice(account, { token });
    await registeredDevice(account, { token, environment: "sandbox" });
    expect(await deviceRowsOf(account)).toHaveLength(2);
  });
});

describe("concurrent registrations", () => {
  test("of one token create one device", async () => {
    const account = await newAccount();
    const token = newToken();
    const responses = await Promise.all([1, 2].map(() => registerPush(account, { token })));
    expect(responses.map(({ status }) => status)).toEqual([202, 202]);
    const [one, two] = await Promise.all(responses.map((response) => response.json()));
    expect(one.device.id).toBe(two.device.id);
    expect(await deviceRowsOf(account)).toHaveLength(1);
  });

  test("of one token get three challenges in total", async () => {
    const account = await newAccount();
    const token = newToken();
    const responses = await Promise.all([1, 2, 3, 4, 5, 6].map(() => registerPush(account, { token })));
    expect(responses.map(({ status }) => status).sort()).toEqual([202, 202, 202, 429, 429, 429]);
    expect(await deviceRowsOf(account)).toHaveLength(1);
    expect(await ctx().db.pushChallenge.count({ where: { device: { accountId: account.id } } })).toBe(3);
  });

  test("of one installation with two tokens create one device", async () => {
    const account = await newAccount();
    const installationId = randomUUID();
    const responses = await Promise.all(
      [newToken(), newToken()].map((token) => registerPush(account, { token, installationId })),
    );
    expect(responses.map(({ status }) => status)).toEqual([202, 202]);
    expect(await deviceRowsOf(account)).toHaveLength(1);
  });

  test("of two installations with one token end with one device", async () => {
    const account = await newAccount();
    const token = newToken();
    const responses = await Promise.all(
      [randomUUID(), randomUUID()].map((installationId) => registerPush(account, { token, installationId })),
    );
    expect(responses.map(({ status }) => status)).toEqual([202, 202]);
    expect(await deviceRowsOf(account)).toHaveLength(1);
  });

  test("with installation ids that move between devices at most double the device limit", async () => {
    const account = await newAccount();
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

  test("of two new devices cannot exceed the device limit", async () => {
    const account = await newAccount();
    await insertDevices(
      account,
      Array.from({ length: 19 }, () => newToken()),
    );
    const responses = await Promise.all([1, 2].map(() => registerPush(account, { token: newToken() })));
    expect(responses.map(({ status }) => status).sort()).toEqual([202, 409]);
    expect(await deviceRowsOf(account)).toHaveLength(20);
  });

  test("of one token by two accounts are pending, and the verified owner keeps it", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const token = newToken();
    const { device } = await registeredDevice(ann, { token });
    await activate(device.id);
    expect((await registeredDevice(bob, { token })).device.status).toBe("pending");
    expect(await deviceRow(device.id)).toMatchObject({ accountId: ann.id, status: "active" });
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
