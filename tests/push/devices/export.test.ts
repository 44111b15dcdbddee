import { expect, test } from "vitest";
import { exportDevices } from "@/lib/push/export";
import { newAccount } from "@/tests/support/accounts";
import { ctx } from "@/tests/support/context";
import { activate, newToken, registeredDevice } from "@/tests/support/push/push";

test("the export of devices is plain JSON without a full token or a key", async () => {
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

test("the export contains no other account's devices", async () => {
  await registeredDevice(await newAccount());
  const account = await newAccount();
  expect(await ctx().db.$transaction((tx) => exportDevices(tx, account.id))).toEqual([]);
});
