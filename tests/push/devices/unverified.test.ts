import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { removeUnverifiedDevices } from "@/lib/push/devices/devices";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import { newPhone, verifiedDevice } from "@/tests/support/push/phone";
import { newToken, registeredDevice } from "@/tests/support/push/push";

const HOUR_MS = 60 * 60 * 1000;
const isThere = async (id: string) => (await ctx().db.pushDevice.count({ where: { id } })) === 1;

test("an unverified device is deleted after 24 hours, with its challenges", async () => {
  const { device } = await registeredDevice(await newAccount());
  clock.advance(24 * HOUR_MS - 60_000);
  await removeUnverifiedDevices(ctx());
  expect(await isThere(device.id)).toBe(true);
  clock.advance(120_000);
  expect(await removeUnverifiedDevices(ctx())).toBeGreaterThanOrEqual(1);
  expect(await isThere(device.id)).toBe(false);
  expect(await ctx().db.pushChallenge.count({ where: { deviceId: device.id } })).toBe(0);
});

test("the 24 hours start again with each registration, by the database's clock", async () => {
  const account = await newAccount();
  const installationId = randomUUID();
  const { device } = await registeredDevice(account, { installationId });
  clock.advance(23 * HOUR_MS);
  await registeredDevice(account, { token: newToken(), installationId });
  clock.advance(23 * HOUR_MS);
  const yearAhead = { ...ctx(), now: () => new Date(clock.now().getTime() + 365 * 24 * HOUR_MS) };
  await removeUnverifiedDevices(yearAhead);
  expect(await isThere(device.id)).toBe(true);
  clock.advance(2 * HOUR_MS);
  await removeUnverifiedDevices(ctx());
  expect(await isThere(device.id)).toBe(false);
});

test("an unverified new token of an active installation is deleted alone", async () => {
  const account = await newAccount();
  const phone = newPhone();
  const { id } = await verifiedDevice(account, phone);
  const { device } = await registeredDevice(account, { token: newToken(), installationId: phone.installationId });
  clock.advance(25 * HOUR_MS);
  await removeUnverifiedDevices(ctx());
  expect({ active: await isThere(id), claimed: await isThere(device.id) }).toEqual({ active: true, claimed: false });
});

test("challenges are deleted a day after they expired", async () => {
  const { id: deviceId } = await verifiedDevice(await newAccount(), newPhone());
  await removeUnverifiedDevices(ctx());
  expect(await ctx().db.pushChallenge.count({ where: { deviceId } })).toBe(1);
  clock.advance(25 * HOUR_MS);
  await removeUnverifiedDevices(ctx());
  expect(await ctx().db.pushChallenge.count({ where: { deviceId } })).toBe(0);
  expect(await isThere(deviceId)).toBe(true);
});

test("one call deletes every old challenge and device, however many there are", async () => {
  const { id: deviceId } = await verifiedDevice(await newAccount(), newPhone());
  const { id: accountId } = await newAccount();
  const at = ctx().now();
  await ctx().db.$executeRaw`
    INSERT INTO "PushChallenge" ("id", "deviceId", "value", "nonceHash", "expiresAt")
    SELECT gen_random_uuid(), ${deviceId}::uuid, 'x', 'x', ${at} FROM generate_series(1, 1100)`;
  await ctx().db.$executeRaw`
    INSERT INTO "PushDevice" ("id", "accountId", "environment", "bundleId", "token", "registeredAt", "lastSeenAt")
    SELECT gen_random_uuid(), ${accountId}::uuid, 'production', 'com.example', ${accountId} || n, ${at}, ${at}
    FROM generate_series(1, 1100) AS n`;
  clock.advance(25 * HOUR_MS);
  await removeUnverifiedDevices(ctx());
  expect(await ctx().db.pushChallenge.count({ where: { deviceId } })).toBe(0);
  expect(await ctx().db.pushDevice.count({ where: { accountId } })).toBe(0);
  expect(await isThere(deviceId)).toBe(true);
});
