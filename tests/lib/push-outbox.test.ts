import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { deliverSoon } from "@/lib/push/delivery";
import { composeNotification, objectionTo, toNotification } from "@/lib/push/notifications";
import { enqueue } from "@/lib/push/outbox";
import { newAccount } from "../support/accounts";
import { ctx } from "../support/context";
import { activate, BUNDLE_ID, recordingPush, registeredDevice } from "../support/push";

const challenge = () => ({ kind: "push.challenge" as const, challengeId: randomUUID(), nonce: "n".repeat(43) });
const now = new Date("2026-11-20T10:00:00Z");
const outgoing = (change: object = {}) => ({
  ...composeNotification(challenge(), now),
  ...{ id: randomUUID(), deviceId: randomUUID(), token: "ab", bundleId: BUNDLE_ID },
  ...{ environment: "sandbox" as const, status: "pending" as const },
  ...change,
});

describe("what is sent", () => {
  test("a challenge lives for 15 minutes and shows nothing", () => {
    expect(composeNotification(challenge(), now)).toMatchObject({
      kind: "push.challenge",
      priority: 5,
      collapseId: null,
      expiresAt: new Date("2026-11-20T10:15:00Z"),
      payload: { aps: { "content-available": 1 } },
    });
  });

  test("the id that the app sees is the apns-id", () => {
    const row = outgoing();
    expect(toNotification(row)).toMatchObject({
      id: row.id,
      pushType: "background",
      payload: { data: { id: row.id } },
    });
  });

  test("a payload that APNs would refuse is refused before", () => {
    expect(() => composeNotification({ ...challenge(), nonce: "n".repeat(4096) }, now)).toThrow(RangeError);
  });

  test.each([
    ["device_state", { status: "active" as const }, now],
    ["device_state", { status: "invalid" as const }, now],
    ["expired", {}, new Date("2026-11-20T10:15:00Z")],
    ["unknown_kind", { kind: "toString" }, now],
    [null, {}, new Date("2026-11-20T10:14:59Z")],
  ])("what speaks against sending: %s", (objection, change, at) => {
    expect(objectionTo(outgoing(change), at)).toBe(objection);
  });
});

describe("the outbox", () => {
  const queue = (deviceId: string, message = challenge()) =>
    ctx().db.$transaction((tx) =>
      enqueue(tx, ctx().now(), { eventKey: `challenge:${message.challengeId}`, to: { deviceId }, message }),
    );

  test("a device hears of one event once", async () => {
    const { device } = await registeredDevice(await newAccount());
    const message = challenge();
    expect(await queue(device.id, message)).toHaveLength(1);
    expect(await queue(device.id, message)).toEqual([]);
  });

  test("an event that is rolled back leaves no notification", async () => {
    const { device } = await registeredDevice(await newAccount());
    const before = await ctx().db.pushDelivery.count({ where: { deviceId: device.id } });
    const failed = ctx().db.$transaction(async (tx) => {
      const message = challenge();
      await enqueue(tx, ctx().now(), { eventKey: randomUUID(), to: { deviceId: device.id }, message });
      throw new Error("rolled back");
    });
    await expect(failed).rejects.toThrow("rolled back");
    expect(await ctx().db.pushDelivery.count({ where: { deviceId: device.id } })).toBe(before);
  });

  test("two workers send a row once", async () => {
    const { device } = await registeredDevice(await newAccount());
    const ids = await queue(device.id);
    const { push, sent } = recordingPush();
    await Promise.all([deliverSoon({ ...ctx(), push }, ids), deliverSoon({ ...ctx(), push }, ids)]);
    expect(sent).toHaveLength(1);
  });

  test("a device that changed since is not sent to", async () => {
    const { device } = await registeredDevice(await newAccount());
    const ids = await queue(device.id);
    await activate(device.id);
    const { push, sent } = recordingPush();
    await deliverSoon({ ...ctx(), push }, ids);
    expect(sent).toEqual([]);
    expect(await ctx().db.pushDelivery.findMany({ where: { id: { in: ids } } })).toMatchObject([
      { state: "cancelled", reason: "device_state", attempts: 0, payload: {} },
    ]);
  });

  test("rows of a device that is gone are passed over", async () => {
    const { push, sent } = recordingPush();
    await deliverSoon({ ...ctx(), push }, [randomUUID()]);
    expect(sent).toEqual([]);
  });
});
