import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAttestKey } from "@/dev/app-attest/app-attest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
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
import { newToken, registerPush } from "@/tests/support/push/push";

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

test("one account can verify 20 devices at the same time", async () => {
  const account = await newAccount();
  const answers: { phone: Phone; evidence: unknown }[] = [];
  for (const phone of Array.from({ length: 20 }, () => newPhone())) {
    answers.push({ phone, evidence: attested(account, phone, await challenge(account, phone)) });
  }
  const responses = await Promise.all(answers.map(({ phone, evidence }) => answer(account, phone, evidence)));
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
});

test("an account never has more than 20 devices, however often it registers", async () => {
  const account = await newAccount();
  const unlimited = { limits: { ...ctx().limits, consume: async () => {} } };
  const statuses = await withContext(unlimited, async () => {
    const found = new Map<number, number>();
    for (let n = 0; n < 60; n += 4) {
      const some = await Promise.all([1, 2, 3, 4].map(() => registerPush(account, { token: newToken() })));
      for (const { status } of some) found.set(status, (found.get(status) ?? 0) + 1);
    }
    return Object.fromEntries(found);
  });
  expect(statuses).toEqual({ 202: 20, 409: 40 });
  expect(await devicesOf(account)).toHaveLength(20);
});
