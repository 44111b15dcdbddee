import { expect, test } from "vitest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { revokeSession } from "@/lib/auth/sessions/sessions";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { BASE_URL, clock, ctx } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { insertDelivery } from "@/tests/support/push/deliveries";
import { activate, newToken, registeredDevice } from "@/tests/support/push/push";

/** A device of the account's that is active and has a notification waiting; registered by the session given. */
async function deviceWithPush(account: TestAccount): Promise<string> {
  const { device } = await registeredDevice(account);
  await activate(device.id);
  const at = ctx().now();
  await insertDelivery(device.id, new Date(at.getTime() + 60_000), new Date(at.getTime() + 120_000));
  return device.id;
}

async function signedInAgain(account: TestAccount): Promise<TestAccount> {
  const { email, password } = account;
  const { token, session } = await (await post("/api/auth/login", { email, password })).json();
  return { ...account, token, sessionId: session.id };
}

async function isLeft(deviceId: string): Promise<{ devices: number; deliveries: boolean }> {
  const devices = await ctx().db.pushDevice.count({ where: { id: deviceId } });
  return { devices, deliveries: (await ctx().db.queuedPush.count({ where: { deviceId } })) > 0 };
}

const GONE = { devices: 0, deliveries: false };
const THERE = { devices: 1, deliveries: true };

test("signing out deletes the devices of the session with their queued notifications, and no others", async () => {
  const account = await newAccount();
  const kept = await deviceWithPush(account);
  const { email, password } = account;
  const own = { origin: BASE_URL, "sec-fetch-site": "same-origin" };
  const login = await post("/api/auth/login", { email, password, transport: "cookie" }, { headers: own });
  const csrf = await get("/api/auth/csrf");
  const cookie = [...login.headers.getSetCookie(), ...csrf.headers.getSetCookie()]
    .map((line) => line.split(";", 1)[0])
    .join("; ");
  const registered = await post("/api/push/register", { token: newToken() }, { cookie, headers: own });
  expect(registered.status).toBe(202);
  const deviceId = (await registered.json()).device.id as string;
  const { csrfToken } = await csrf.json();
  const signedOut = await call("POST", "/api/auth/signout", {
    cookie,
    body: new URLSearchParams({ csrfToken, json: "true" }).toString(),
    headers: { ...own, "content-type": "application/x-www-form-urlencoded" },
  });
  expect(signedOut.status).toBe(200);
  expect(await isLeft(deviceId)).toEqual(GONE);
  expect(await isLeft(kept)).toEqual(THERE);
});

test("revoking a session deletes its devices, and no other session's", async () => {
  const account = await newAccount();
  const other = await signedInAgain(account);
  const [revoked, kept] = [await deviceWithPush(account), await deviceWithPush(other)];
  await revokeSession(ctx(), account.sessionId);
  expect(await isLeft(revoked)).toEqual(GONE);
  expect(await isLeft(kept)).toEqual(THERE);
});

test("a device is deleted with the session that registered it last", async () => {
  const account = await newAccount();
  const token = newToken();
  const { device } = await registeredDevice(account, { token });
  await activate(device.id);
  const other = await signedInAgain(account);
  await registeredDevice(other, { token });
  await revokeSession(ctx(), account.sessionId);
  expect((await isLeft(device.id)).devices).toBe(1);
  await revokeSession(ctx(), other.sessionId);
  expect(await isLeft(device.id)).toEqual(GONE);
});

test("a session that is ended by a 21st loses its devices", async () => {
  const account = await newAccount();
  const deviceId = await deviceWithPush(account);
  for (let n = 0; n < 20; n += 1) {
    clock.advance(1000);
    await signedInAgain(account);
  }
  expect((await get("/api/push/devices", { token: account.token })).status).toBe(401);
  expect(await isLeft(deviceId)).toEqual(GONE);
});

test("an expired session loses its devices, and no other session does", async () => {
  const account = await newAccount();
  const other = await signedInAgain(account);
  const [expired, kept] = [await deviceWithPush(account), await deviceWithPush(other)];
  await ctx().db.session.update({ where: { id: account.sessionId }, data: { expiresAt: new Date(+ctx().now() - 1) } });
  await removeExpiredRows(ctx());
  expect(await isLeft(expired)).toEqual(GONE);
  expect(await isLeft(kept)).toEqual(THERE);
});

test("a password reset deletes every device", async () => {
  const account = await newAccount();
  const devices = [await deviceWithPush(account), await deviceWithPush(await signedInAgain(account))];
  await post("/api/auth/reset/request", { email: account.email });
  const [, token] = /reset#token=([\w-]+)/.exec(await mailbox.waitFor(account.email)) ?? [];
  expect((await post("/api/auth/reset/confirm", { token, password: "an entirely new password" })).status).toBe(200);
  for (const deviceId of devices) expect(await isLeft(deviceId)).toEqual(GONE);
});

test("deleting an account deletes its devices", async () => {
  const account = await newAccount();
  const deviceId = await deviceWithPush(account);
  const body = { confirm: "DELETE", password: account.password };
  expect((await post("/api/auth/account/delete", body, { token: account.token })).status).toBe(200);
  expect(await isLeft(deviceId)).toEqual(GONE);
});

test("a session that ends while it registers devices leaves no device", async () => {
  const account = await newAccount();
  const known = newToken();
  await activate((await registeredDevice(account, { token: known })).device.id);
  const tokens = [known, newToken(), newToken(), known];
  const [, ...responses] = await Promise.all([
    revokeSession(ctx(), account.sessionId),
    ...tokens.map((token) => post("/api/push/register", { token }, { token: account.token })),
  ]);
  for (const { status } of responses) expect([200, 202, 401]).toContain(status);
  expect(await ctx().db.pushDevice.count({ where: { accountId: account.id } })).toBe(0);
});
