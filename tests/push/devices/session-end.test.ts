import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { newAttestKey } from "@/dev/app-attest/app-attest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { revokeSession } from "@/lib/auth/sessions/sessions";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { insertDelivery } from "@/tests/support/push/deliveries";
import {
  answer,
  attested,
  challenge,
  decidingTogether,
  newPhone,
  type Phone,
  verifiedDevice,
} from "@/tests/support/push/phone";
import { activate, activatedDevice, newToken, registeredDevice } from "@/tests/support/push/push";

/** A new account for each test. */
let account: TestAccount;
beforeEach(async () => {
  account = await newAccount();
});

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

async function expireSession({ sessionId }: TestAccount): Promise<void> {
  await ctx().db.session.update({ where: { id: sessionId }, data: { expiresAt: new Date(+ctx().now() - 1) } });
  await removeExpiredRows(ctx());
}

async function isLeft(deviceId: string): Promise<{ devices: number; deliveries: boolean }> {
  const devices = await ctx().db.pushDevice.count({ where: { id: deviceId } });
  return { devices, deliveries: (await ctx().db.queuedPush.count({ where: { deviceId } })) > 0 };
}

const GONE = { devices: 0, deliveries: false };

const THERE = { devices: 1, deliveries: true };

test("signing out deletes the devices of the session with their queued notifications, and no others", async () => {
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

test.each<[string, (account: TestAccount) => Promise<unknown>]>([
  ["revoked", ({ sessionId }) => revokeSession(ctx(), sessionId)],
  ["expired", expireSession],
])("the devices of a session that is %s are deleted, and no other session's", async (_, end) => {
  const [ended, kept] = [await deviceWithPush(account), await deviceWithPush(await signedInAgain(account))];
  await end(account);
  expect([await isLeft(ended), await isLeft(kept)]).toEqual([GONE, THERE]);
});

test("a device is deleted with the session that registered it last", async () => {
  const token = newToken();
  const { account, device } = await activatedDevice({ token });
  const other = await signedInAgain(account);
  await registeredDevice(other, { token });
  await revokeSession(ctx(), account.sessionId);
  expect((await isLeft(device.id)).devices).toBe(1);
  await revokeSession(ctx(), other.sessionId);
  expect(await isLeft(device.id)).toEqual(GONE);
});

test("a session that is ended by a 21st loses its devices", async () => {
  const deviceId = await deviceWithPush(account);
  clock.advance(1000);
  const { id: _, ...session } = await ctx().db.session.findUniqueOrThrow({ where: { id: account.sessionId } });
  const later = { ...session, lastSeenAt: clock.now(), authenticatedAt: clock.now() };
  await ctx().db.session.createMany({ data: Array(19).fill(later) });
  await signedInAgain(account);
  expect((await get("/api/push/devices", { token: account.token })).status).toBe(401);
  expect(await isLeft(deviceId)).toEqual(GONE);
});

test("a password reset deletes every device", async () => {
  const devices = [await deviceWithPush(account), await deviceWithPush(await signedInAgain(account))];
  await post("/api/auth/reset/request", { email: account.email });
  const [, token] = /reset#token=([\w-]+)/.exec(await mailbox.waitFor(account.email)) ?? [];
  expect((await post("/api/auth/reset/confirm", { token, password: "an entirely new password" })).status).toBe(200);
  for (const deviceId of devices) expect(await isLeft(deviceId)).toEqual(GONE);
});

async function devicesOf({ token }: TestAccount) {
  return (await (await get("/api/push/devices", { token })).json()).devices as { id: string; status: string }[];
}

/** One iPhone in another person's hands: the same token, a key of their own. */
const handedOver = (phone: Phone) => ({ ...phone, key: newAttestKey() });

test("a device belongs to the account that verified it last", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const phone = newPhone();
  await verifiedDevice(ann, phone);
  await verifiedDevice(bob, handedOver(phone));
  expect(await devicesOf(ann)).toEqual([]);
  expect(await devicesOf(bob)).toMatchObject([{ status: "active", tokenSuffix: phone.token.slice(-4) }]);
  await verifiedDevice(ann, handedOver(phone));
  expect(await devicesOf(ann)).toMatchObject([{ status: "active" }]);
  expect(await devicesOf(bob)).toEqual([]);
});

test("the previous owner's queued notifications are never sent to the device", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const phone = newPhone();
  const { id: deviceId } = await verifiedDevice(ann, phone);
  const at = ctx().now();
  await insertDelivery(deviceId, at, new Date(at.getTime() + 60_000));
  await verifiedDevice(bob, handedOver(phone));
  expect(await ctx().db.queuedPush.count({ where: { deviceId } })).toBe(0);
});

test("a stolen token without the nonce stays pending and does not affect its owner", async () => {
  const [ann, thief] = [await newAccount(), await newAccount()];
  const phone = newPhone();
  const { id } = await verifiedDevice(ann, phone);
  const stolen = handedOver(phone);
  const challenged = await challenge(thief, stolen);
  const guessed = { ...challenged, pushNonce: Buffer.alloc(32, 7).toString("base64url") };
  expect((await answer(thief, stolen, attested(thief, stolen, guessed))).status).toBe(422);
  expect(await devicesOf(thief)).toMatchObject([{ status: "pending" }]);
  expect(await devicesOf(ann)).toMatchObject([{ id, status: "active" }]);
});

test("other accounts' pending registrations of a token end when its owner verifies it", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const phone = newPhone();
  await challenge(bob, handedOver(phone));
  await verifiedDevice(ann, phone);
  expect(await devicesOf(bob)).toEqual([]);
});

test("tokens of another bundle or environment are independent", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const config = { APNS_BUNDLE_IDS: ["com.example.homeport", "com.example.other"] };
  await withContext({ config }, async () => {
    const phone = newPhone();
    await verifiedDevice(ann, phone);
    await verifiedDevice(bob, { ...handedOver(phone), environment: "sandbox" });
    await verifiedDevice(bob, { ...handedOver(phone), bundleId: "com.example.other", installationId: randomUUID() });
  });
  expect(await devicesOf(ann)).toMatchObject([{ status: "active" }]);
  expect(await devicesOf(bob)).toHaveLength(2);
});

test("of accounts that verify one token at the same time one gets it, without a server error", async () => {
  const people = await Promise.all([1, 2, 3, 4].map(() => newAccount()));
  const phone = newPhone();
  const answers: { person: TestAccount; own: Phone; evidence: unknown }[] = [];
  for (const person of people) {
    const own = handedOver(phone);
    answers.push({ person, own, evidence: attested(person, own, await challenge(person, own)) });
  }
  const responses = await withContext({ db: decidingTogether(4) }, () =>
    Promise.all(answers.map(({ person, own, evidence }) => answer(person, own, evidence))),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422]);
  const where = { token: phone.token };
  expect(await ctx().db.pushDevice.findMany({ where })).toMatchObject([{ status: "active" }]);
});

test("one account can verify many devices at the same time", async () => {
  const answers: { phone: Phone; evidence: unknown }[] = [];
  for (const phone of Array.from({ length: 8 }, () => newPhone())) {
    answers.push({ phone, evidence: attested(account, phone, await challenge(account, phone)) });
  }
  const responses = await Promise.all(answers.map(({ phone, evidence }) => answer(account, phone, evidence)));
  expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200));
});
