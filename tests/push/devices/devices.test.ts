import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { exportDevices } from "@/lib/push/devices/devices";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";
import { activate, newToken, registeredDevice } from "@/tests/support/push/push";

const list = ({ token }: Pick<TestAccount, "token">) => get("/api/push/devices", { token });

const remove = ({ token }: Pick<TestAccount, "token">, id: string) =>
  call("DELETE", `/api/push/devices/${id}`, { token });

async function devicesOf(account: Pick<TestAccount, "token">) {
  const response = await list(account);
  expect(response.status).toBe(200);
  return (await response.json()).devices as Record<string, unknown>[];
}

test("the list has the account's devices, newest first, as registration returned them", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const first = await registeredDevice(ann, { device: { name: "First" } });
  clock.advance(1000);
  const second = await registeredDevice(ann, { device: { name: "Second" } });
  await registeredDevice(bob);
  const listed = await devicesOf(ann);
  expect(listed.map(({ name }) => name)).toEqual(["Second", "First"]);
  expect(listed.map((device) => ({ ...device, lastDeliveredAt: null }))).toEqual([second.device, first.device]);
});

test("only the session that registered a device sees it as current", async () => {
  const account = await newAccount();
  await registeredDevice(account);
  const signedIn = await post("/api/auth/login", { email: account.email, password: account.password });
  const other = await signedIn.json();
  expect(await devicesOf(account)).toMatchObject([{ current: true }]);
  expect(await devicesOf(other)).toMatchObject([{ current: false }]);
});

test("deleting a device deletes its challenges and deliveries", async () => {
  const account = await newAccount();
  const [kept, removed] = [await registeredDevice(account), await registeredDevice(account)];
  const response = await remove(account, removed.device.id);
  expect(response.status).toBe(204);
  expect(await response.text()).toBe("");
  expect(await devicesOf(account)).toMatchObject([{ id: kept.device.id }]);
  const where = { deviceId: removed.device.id };
  expect(await ctx().db.pushChallenge.count({ where })).toBe(0);
  expect(await ctx().db.queuedPush.count({ where })).toBe(0);
  expect(await ctx().db.pushMessage.count({ where })).toBe(0);
  expect((await remove(account, removed.device.id)).status).toBe(404);
});

test("another account's device is not found and stays", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const { device } = await registeredDevice(ann);
  const response = await remove(bob, device.id);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ code: "device_not_found" });
  expect(await devicesOf(ann)).toHaveLength(1);
});

test.each(["1", "%00", "..%2Fx", `${randomUUID()}x`, randomUUID()])("the device id %s is not found", async (id) => {
  const response = await remove(await newAccount(), id);
  expect([response.status, await response.json()]).toMatchObject([404, { code: "device_not_found" }]);
});

test("of two concurrent deletions one succeeds and the other finds nothing", async () => {
  const account = await newAccount();
  const { device } = await registeredDevice(account);
  const responses = await Promise.all([remove(account, device.id), remove(account, device.id)]);
  expect(responses.map(({ status }) => status).sort()).toEqual([204, 404]);
});

test("registering and deleting a device at the same time never fails", async () => {
  const account = await newAccount();
  const token = newToken();
  const { device } = await registeredDevice(account, { token });
  const again = () => post("/api/push/register", { token }, { token: account.token });
  const [registered, removed] = await Promise.all([again(), remove(account, device.id)]);
  expect(registered.status).toBe(202);
  expect(removed.status).toBe(204);
});

test("the export has the account's devices alone, without a full token or a key", async () => {
  await registeredDevice(await newAccount());
  const account = await newAccount();
  const token = newToken();
  const { device } = await registeredDevice(account, { token, device: { name: "Mine", timeZone: "Asia/Tokyo" } });
  await activate(device.id);
  const exported = await ctx().db.$transaction((tx) => exportDevices(tx, account.id));
  const text = JSON.stringify(exported);
  expect(text).not.toContain(token);
  expect(text).not.toMatch(/key/i);
  expect(exported).toMatchObject([
    { id: device.id, name: "Mine", timeZone: "Asia/Tokyo", status: "active", tokenSuffix: token.slice(-4) },
  ]);
});
