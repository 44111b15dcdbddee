import { beforeEach, describe, expect, test } from "vitest";
import { queueBroadcast } from "@/lib/push/outbox/broadcasts";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";
import { answered, MESSAGES, newSender } from "@/tests/support/push/admin";
import { startApns } from "@/tests/support/push/apns";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import {
  accountWithDevices,
  activeDevices,
  BUNDLE_ID,
  clearOutbox,
  deliverDue,
  deviceRow,
  newToken,
  recordingPush,
  sendDue,
} from "@/tests/support/push/push";

/** A new account for each test. */
let account: TestAccount;
beforeEach(async () => {
  account = await newAccount();
});

const TYPE = "DeliveryAttributes";
const HOUR_MS = 60 * 60 * 1000;
const seconds = (date: Date) => Math.floor(date.getTime() / 1000);

beforeEach(clearOutbox);

/** A phone whose app has registered a Live Activity and a token that starts others. */
async function newPhone(account: TestAccount, activityId = "order-1") {
  const [device] = await activeDevices(account, 1);
  const [token, startToken] = [newToken(80), newToken(80)];
  const path = `/api/push/devices/${device?.id}`;
  const register = async (name: string, json: object) => {
    const { status } = await call("PUT", `${path}/${name}`, { token: account.token, json });
    if (status !== 200) throw new Error(`${name} was refused with ${status}`);
  };
  await register(`live-activities/${activityId}`, { attributesType: TYPE, token });
  await register(`live-activity-start-tokens/${TYPE}`, { token: startToken });
  const tokens = async () => (await get(`${path}/live-activities`, { token: account.token })).json();
  return { id: device?.id ?? "", token, startToken, tokens, register };
}

async function newSubscriber() {
  const account = await newAccount();
  return { account, phone: await newPhone(account), apns: await startApns() };
}

type Message = { id: string; code?: string; errors?: { pointer: string }[] };

async function send(event: "start" | "update" | "end", json: object) {
  const token = await newSender();
  return answered<Message>(post(MESSAGES, { kind: `live_activity.${event}`, ...json }, { token }));
}

const update = (account: TestAccount, step: number, fields: object = {}) =>
  send("update", { to: { account: account.id }, activityId: "order-1", contentState: { step }, ...fields });

describe("a Live Activity", () => {
  test("is updated through its own token, as Apple documents", async () => {
    const { account, phone, apns } = await newSubscriber();
    const staleDate = "2031-01-01T00:00:00Z";
    const alert = { title: "Your order", body: "It arrives.", sound: "bell.caf" };
    expect(await update(account, 2, { staleDate, relevanceScore: 75, alert, priority: 5 })).toMatchObject({
      http: 201,
      kind: "live_activity.update",
      devices: 1,
      title: null,
    });
    await deliverDue({ push: apns.transport() });
    const [delivery] = await deliveriesOf({ deviceId: phone.id });
    expect(apns.rejected).toEqual([]);
    expect(apns.received).toMatchObject([{ token: phone.token }]);
    expect(apns.received[0]?.headers).toMatchObject({
      "apns-push-type": "liveactivity",
      "apns-topic": `${BUNDLE_ID}.push-type.liveactivity`,
      "apns-priority": "5",
      "apns-expiration": String(seconds(delivery?.expiresAt ?? new Date(0))),
    });
    expect(apns.received[0]?.payload).toEqual({
      aps: {
        timestamp: expect.any(Number),
        event: "update",
        "content-state": { step: 2 },
        "stale-date": seconds(new Date(staleDate)),
        "relevance-score": 75,
        alert,
      },
    });
  });

  test("is started through the token of its type", async () => {
    const { phone, apns } = await newSubscriber();
    const started = await send("start", {
      to: { deviceId: phone.id },
      attributesType: TYPE,
      attributes: { order: "4711" },
      contentState: { step: 1 },
      alert: { title: "Your order", body: "It is packed." },
      inputPushToken: true,
    });
    expect(started).toMatchObject({ http: 201, devices: 1 });
    await deliverDue({ push: apns.transport() });
    expect(apns.received).toMatchObject([
      {
        token: phone.startToken,
        headers: { "apns-priority": "10" },
        payload: {
          aps: {
            event: "start",
            "attributes-type": TYPE,
            attributes: { order: "4711" },
            "content-state": { step: 1 },
            alert: { title: "Your order", body: "It is packed." },
            "input-push-token": 1,
          },
        },
      },
    ]);
  });

  test("is forgotten once its end is sent", async () => {
    const { account, phone, apns } = await newSubscriber();
    const dismissalDate = "2031-01-01T00:00:00Z";
    await send("end", { to: { account: account.id }, activityId: "order-1", dismissalDate });
    await deliverDue({ push: apns.transport() });
    expect(apns.received[0]?.payload).toEqual({
      aps: { timestamp: expect.any(Number), event: "end", "dismissal-date": seconds(new Date(dismissalDate)) },
    });
    expect(await phone.tokens()).toMatchObject({ liveActivities: [], startTokens: [{ attributesType: TYPE }] });
    expect(await update(account, 9)).toMatchObject({ http: 409, code: "no_live_activity" });
  });

  test("on each device of an account gets the update, and no other one", async () => {
    const phones = [await newPhone(account), await newPhone(account)];
    await newPhone(account, "order-2");
    await activeDevices(account, 1);
    const apns = await startApns();
    expect(await update(account, 1)).toMatchObject({ devices: 2 });
    await deliverDue({ push: apns.transport() });
    expect(apns.received.map(({ token }) => token).sort()).toEqual(phones.map(({ token }) => token).sort());
  });

  test("of an audience is updated at its time", async () => {
    const phone = await newPhone(account, "match-7");
    await newPhone(await newAccount(), "match-8");
    const apns = await startApns();
    const sendAt = new Date(clock.now().getTime() + HOUR_MS).toISOString();
    await send("update", { to: { audience: {} }, activityId: "match-7", contentState: { goals: 1 }, sendAt });
    clock.advance(HOUR_MS);
    while (await queueBroadcast(ctx()));
    await deliverDue({ push: apns.transport() });
    expect(apns.received).toMatchObject([
      { token: phone.token, payload: { aps: { timestamp: seconds(new Date(sendAt)) } } },
    ]);
  });
});

describe("a newer update", () => {
  test("replaces those that wait, also for a retry", async () => {
    const { account, phone, apns } = await newSubscriber();
    apns.replyWith("*", { status: 503, reason: "ServiceUnavailable" });
    await update(account, 1);
    await deliverDue({ push: apns.transport() });
    clock.advance(1_000);
    await update(account, 2);
    clock.advance(1_000);
    await update(account, 3);
    clock.advance(HOUR_MS);
    await deliverDue({ push: apns.transport() });
    const states = apns.received.map(({ payload }) => (payload.aps as Record<string, object>)["content-state"]);
    expect(states).toEqual([{ step: 1 }, { step: 3 }]);
    expect(await deliveriesOf({ deviceId: phone.id })).toMatchObject([
      { state: "cancelled", reason: "superseded", attempts: 1 },
      { state: "cancelled", reason: "superseded" },
      { state: "sent" },
    ]);
  });

  test("no longer replaces those that wait once it is canceled, but those that were sent still do", async () => {
    const { account, phone, apns } = await newSubscriber();
    const state = () => apns.received.map(({ payload }) => (payload.aps as Record<string, object>)["content-state"]);
    const cancelScheduled = async () => {
      const sendAt = new Date(clock.now().getTime() + 30_000).toISOString();
      const { id } = await update(account, 9, { sendAt });
      while (await queueBroadcast(ctx()));
      const token = await newSender();
      const canceled = answered(call("DELETE", `${MESSAGES}/${id}`, { token }));
      expect(await canceled).toMatchObject({ status: "canceled", cancelled: 1 });
    };
    apns.replyWith("*", ...Array(2).fill({ status: 503, reason: "ServiceUnavailable" }));
    await update(account, 1);
    await deliverDue({ push: apns.transport() });
    await cancelScheduled();
    clock.advance(HOUR_MS);
    await deliverDue({ push: apns.transport() });
    expect(state()).toEqual([{ step: 1 }, { step: 1 }]);
    await update(account, 2);
    await deliverDue({ push: apns.transport() });
    await cancelScheduled();
    clock.advance(2 * HOUR_MS);
    await deliverDue({ push: apns.transport() });
    expect(state()).toEqual([{ step: 1 }, { step: 1 }, { step: 2 }]);
    expect(await deliveriesOf({ deviceId: phone.id })).toMatchObject([
      { state: "cancelled", reason: "superseded" },
      { state: "cancelled", reason: "canceled_by_operator" },
      { state: "sent" },
      { state: "cancelled", reason: "canceled_by_operator" },
    ]);
  });

  test("does not replace an end, nor what is due later, nor another activity", async () => {
    const phone = await newPhone(account);
    await phone.register("live-activities/order-2", { attributesType: TYPE, token: newToken() });
    const apns = await startApns();
    await send("end", { to: { account: account.id }, activityId: "order-2", contentState: {} });
    const sendAt = new Date(clock.now().getTime() + 30_000).toISOString();
    await update(account, 5, { sendAt });
    while (await queueBroadcast(ctx()));
    clock.advance(1_000);
    await update(account, 1);
    await send("update", { to: { account: account.id }, activityId: "order-2", contentState: {} });
    await deliverDue({ push: apns.transport() });
    clock.advance(30_000);
    await deliverDue({ push: apns.transport() });
    const events = apns.received.map(({ payload }) => payload.aps as { event: string; timestamp: number });
    expect(events.filter(({ event }) => event === "end")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ timestamp: seconds(new Date(sendAt)), "content-state": { step: 5 } });
  });
});

const start = { to: { audience: {} }, attributesType: TYPE, attributes: {}, contentState: {} };
const alert = { title: "A", body: "B" };

describe("a token that APNs rejects", () => {
  test.each([
    [410, "Unregistered"],
    [400, "BadDeviceToken"],
  ])("with %d %s is removed, and its device stays", async (status, reason) => {
    const { account, phone, apns } = await newSubscriber();
    apns.replyWith(phone.token, { status, reason, timestamp: clock.now().getTime() });
    await update(account, 1);
    await deliverDue({ push: apns.transport() });
    expect(await deliveriesOf({ deviceId: phone.id })).toMatchObject([{ state: "failed", apnsStatus: status, reason }]);
    expect(await phone.tokens()).toMatchObject({ liveActivities: [], startTokens: [{ attributesType: TYPE }] });
    expect(await deviceRow(phone.id)).toMatchObject({ status: "active", invalidReason: null });
  });

  test("stays if the app has registered it again since", async () => {
    const { account, phone, apns } = await newSubscriber();
    apns.replyWith(phone.token, { status: 410, reason: "Unregistered", timestamp: clock.now().getTime() - HOUR_MS });
    await update(account, 1);
    await deliverDue({ push: apns.transport() });
    expect(await phone.tokens()).toMatchObject({ liveActivities: [{ activityId: "order-1" }] });
  });

  test.each(["start", "end"] as const)("while the app replaces it gets the %s at the new one", async (event) => {
    const phone = await newPhone(account);
    const token = newToken(80);
    const what = event === "start" ? { ...start, alert } : { activityId: "order-1", contentState: {} };
    await send(event, { ...what, to: { account: account.id } });
    const name = event === "start" ? `live-activity-start-tokens/${TYPE}` : "live-activities/order-1";
    const json = event === "start" ? { token } : { attributesType: TYPE, token };
    const replaced = recordingPush(async () => {
      await phone.register(name, json);
      return { status: 410, reason: "Unregistered" };
    });
    await deliverDue({ push: replaced.push });
    expect(await deliveriesOf({ deviceId: phone.id })).toMatchObject([{ state: "queued", attempts: 1 }]);
    expect(await sendDue()).toMatchObject([{ token }]);
    expect(await deliveriesOf({ deviceId: phone.id })).toMatchObject([{ state: "sent", attempts: 2 }]);
  });

  test("does not open the circuit breaker: an app may register any token", async () => {
    const [account, device] = await accountWithDevices(1);
    const apns = await startApns();
    for (let i = 0; i < 15; i++) {
      const path = `/api/push/devices/${device?.id}/live-activities/a${i}`;
      const token = newToken();
      await call("PUT", path, { token: account.token, json: { attributesType: TYPE, token } });
      apns.replyWith(token, { status: 400, reason: "BadDeviceToken" });
      await send("update", { to: { account: account.id }, activityId: `a${i}`, contentState: {} });
    }
    await deliverDue({ push: apns.transport() });
    expect(apns.received).toHaveLength(15);
    expect(await ctx().db.pushPause.count()).toBe(0);
  });

  test("or was removed while its update waited gets nothing", async () => {
    const { account, phone, apns } = await newSubscriber();
    await update(account, 1);
    await ctx().db.liveActivity.deleteMany({ where: { deviceId: phone.id } });
    await deliverDue({ push: apns.transport() });
    expect(apns.received).toEqual([]);
    expect(await deliveriesOf({ deviceId: phone.id })).toMatchObject([
      { state: "cancelled", reason: "no_live_activity" },
    ]);
  });
});

describe("a message for a Live Activity", () => {
  test("needs an active device that has the Live Activity", async () => {
    expect(await update(account, 1)).toMatchObject({ http: 409, code: "no_active_device" });
    await activeDevices(account, 1);
    expect(await update(account, 1)).toMatchObject({ http: 409, code: "no_live_activity" });
    const phone = await newPhone(account);
    await ctx().db.pushDevice.updateMany({ where: { id: phone.id }, data: { status: "pending" } });
    expect(await update(account, 1)).toMatchObject({ http: 409, code: "no_live_activity" });
  });

  test("of more than 4,096 bytes is refused before anything is queued", async () => {
    const phone = await newPhone(account);
    expect(await update(account, 1, { contentState: { text: "x".repeat(4_096) } })).toMatchObject({
      http: 422,
      errors: [{ pointer: "/contentState", code: "too_big" }],
    });
    expect(await deliveriesOf({ deviceId: phone.id })).toEqual([]);
  });

  test.each<["start" | "update" | "end", object, string]>([
    ["start", start, "/alert"],
    ["start", { ...start, alert, attributesType: "no type" }, "/attributesType"],
    ["update", { to: { account: "x" }, activityId: "a" }, "/contentState"],
    ["update", { to: { account: "x" }, activityId: "a", contentState: [] }, "/contentState"],
    ["update", { to: { account: "x" }, activityId: "a", contentState: { "a\0": 1 } }, "/contentState"],
    ["update", { to: { account: "x" }, activityId: "a", contentState: { a: ["\ud800"] } }, "/contentState/a/0"],
    ["update", { to: { account: "x" }, activityId: "../a", contentState: {} }, "/activityId"],
    ["update", { to: { account: "x" }, activityId: "a", contentState: {}, priority: 1 }, "/priority"],
    ["end", { to: { account: "x" }, activityId: "a", dismissalDate: "soon" }, "/dismissalDate"],
  ])("%s with %j is invalid", async (event, json, pointer) => {
    expect(await send(event, json)).toMatchObject({ http: 422, errors: [{ pointer }] });
  });

  test("may have text that looks like an escape", async () => {
    await newPhone(account);
    expect(await update(account, 1, { contentState: { text: "\\u0000 and \\ud800" } })).toMatchObject({ http: 201 });
  });
});
