import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { enqueue, enqueueAll } from "@/lib/push/outbox/enqueue";
import { newAccount } from "@/tests/support/accounts";
import { ctx } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { accountWithDevices, activeDevices, registeredDevice, sendDue } from "@/tests/support/push/push";

const DAY_MS = 24 * 60 * 60 * 1000;
const words = { kind: "custom", title: "A title", body: "A body", link: null } as const;
const keyOfTest = () => `test:${randomUUID()}`;
const rowsOf = (eventKey: string) => deliveriesOf({ eventKey });
const notify = (accountId: string, eventKey = keyOfTest()) =>
  ctx().db.$transaction((tx) => enqueue(tx, ctx().dbNow(), { eventKey, to: { accountId }, message: words }));

describe("a notification", () => {
  test("is queued for the account's active devices and no others", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const [first, second] = await activeDevices(ann, 2);
    await registeredDevice(ann);
    await activeDevices(bob, 1);
    const eventKey = keyOfTest();
    expect(await notify(ann.id, eventKey)).toBe(2);
    const rows = await rowsOf(eventKey);
    expect(new Set(rows.map(({ deviceId }) => deviceId))).toEqual(new Set([first?.id, second?.id]));
    expect(rows[0]).toMatchObject({ kind: "custom", state: "queued", attempts: 0, priority: 10, leaseUntil: null });
    expect(rows[0]?.expiresAt.getTime()).toBe((rows[0]?.createdAt.getTime() ?? 0) + DAY_MS);
    expect(rows[0]?.nextAttemptAt).toEqual(rows[0]?.createdAt);
  });

  test("is queued once for each device, however often it is enqueued", async () => {
    const [account] = await accountWithDevices(1);
    const eventKey = keyOfTest();
    expect(await notify(account.id, eventKey)).toBe(1);
    await activeDevices(account, 1);
    expect(
      await Promise.all([notify(account.id, eventKey), notify(account.id, eventKey)]).then((n) => n.sort()),
    ).toEqual([0, 1]);
    expect(await rowsOf(eventKey)).toHaveLength(2);
  });

  // ASVS 2.3.3
  test("is not queued if the transaction is rolled back", async () => {
    const [account] = await accountWithDevices(1);
    const eventKey = keyOfTest();
    const failed = ctx().db.$transaction(async (tx) => {
      expect(await enqueue(tx, ctx().dbNow(), { eventKey, to: { accountId: account.id }, message: words })).toBe(1);
      throw new Error("rolled back");
    });
    await expect(failed).rejects.toThrow("rolled back");
    expect(await rowsOf(eventKey)).toEqual([]);
  });
});

test("notifications of several events are queued together, those of a repeated event once", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const [[annsDevice], [bobsDevice]] = [await activeDevices(ann, 1), await activeDevices(bob, 2)];
  const { device: pending } = await registeredDevice(bob);
  const keys = [keyOfTest(), keyOfTest(), keyOfTest()];
  const [known = "", both = "", none = ""] = keys;
  await notify(ann.id, known);
  const events = [
    { eventKey: both, to: { accountId: bob.id }, message: words },
    { eventKey: known, to: { accountId: ann.id }, message: words },
    { eventKey: both, to: { accountId: ann.id }, message: words },
    { eventKey: both, to: { deviceId: bobsDevice?.id ?? "" }, message: words },
    { eventKey: none, to: { deviceId: pending.id }, message: words },
  ];
  expect(await ctx().db.$transaction((tx) => enqueueAll(tx, ctx().dbNow(), events))).toBe(3);
  expect(await rowsOf(known)).toMatchObject([{ deviceId: annsDevice?.id }]);
  expect((await rowsOf(both)).map(({ deviceId }) => deviceId)).toContain(annsDevice?.id);
  expect(await rowsOf(both)).toHaveLength(3);
  expect(await rowsOf(none)).toEqual([]);
});

test("an event is not queued again for a device that has received it", async () => {
  const [account, device] = await accountWithDevices(1);
  const eventKey = keyOfTest();
  expect(await notify(account.id, eventKey)).toBe(1);
  await sendDue();
  expect(await ctx().db.queuedPush.count({ where: { deviceId: device?.id } })).toBe(0);
  expect(await notify(account.id, eventKey)).toBe(0);
  await activeDevices(account, 1);
  expect(await notify(account.id, eventKey)).toBe(1);
});
