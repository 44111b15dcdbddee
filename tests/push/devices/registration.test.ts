import { expect, test } from "vitest";
import { revokeSession } from "@/lib/auth/sessions/sessions";
import { registerDevice } from "@/lib/push/devices/register-device";
import { newAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { activate, newToken, registeredDevice } from "@/tests/support/push/push";

test("a session that ends while it registers a device leaves no device", async () => {
  const account = await newAccount();
  await revokeSession(ctx(), account.sessionId);
  const owner = { account: { id: account.id }, session: { id: account.sessionId } };
  const given = { token: newToken(), environment: "production" as const, device: {} };
  const caller = { ip: "unknown", userAgent: null, deviceId: "" };
  await expect(registerDevice(ctx(), owner, given, caller)).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await ctx().db.pushDevice.count({ where: { accountId: account.id } })).toBe(0);
});

test("a session that ends while it registers an active device again does not change it", async () => {
  const account = await newAccount();
  const token = newToken();
  const { device } = await registeredDevice(account, { token });
  await activate(device.id);
  const { email, password } = account;
  const { session } = await (await post("/api/auth/login", { email, password })).json();
  await revokeSession(ctx(), session.id);
  const given = { token, environment: "production" as const, device: {} };
  const caller = { ip: "unknown", userAgent: null, deviceId: "" };
  const registering = registerDevice(ctx(), { account, session }, given, caller);
  await expect(registering).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await ctx().db.pushDevice.findUnique({ where: { id: device.id } })).toMatchObject({
    status: "active",
    sessionId: account.sessionId,
  });
});
