import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { exportDevices } from "@/lib/push/devices/devices";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";
import { answered } from "@/tests/support/push/admin";
import { activeDevices, newToken } from "@/tests/support/push/push";

const TYPE = "DeliveryAttributes";

async function phoneOf(account: TestAccount, change: Parameters<typeof activeDevices>[2] = {}): Promise<string> {
  const [device] = await activeDevices(account, 1, change);
  return `/api/push/devices/${device?.id}`;
}

async function newPhone(change?: Parameters<typeof activeDevices>[2]) {
  const account = await newAccount();
  return { account, phone: await phoneOf(account, change) };
}

const put = ({ token }: TestAccount, path: string, json: unknown) =>
  answered<{ code?: string; tokenSuffix?: string }>(call("PUT", path, { token, json }));
const remove = async (account: TestAccount, path: string) =>
  (await call("DELETE", path, { token: account.token })).status;
const list = async (account: TestAccount, phone: string) =>
  (await get(`${phone}/live-activities`, { token: account.token })).json();

describe("the token of a Live Activity", () => {
  test("is stored in lower case, replaced when it changes, and never shown whole", async () => {
    const { account, phone } = await newPhone();
    const [first, second] = [newToken(80), newToken(80)];
    const path = `${phone}/live-activities/order-1`;
    expect(await put(account, path, { attributesType: TYPE, token: first.toUpperCase() })).toMatchObject({
      http: 200,
      activityId: "order-1",
      attributesType: TYPE,
      tokenSuffix: first.slice(-4),
    });
    await put(account, path, { attributesType: TYPE, token: second });
    await put(account, `${phone}/live-activity-start-tokens/${TYPE}`, { token: first });
    const listed = await list(account, phone);
    expect(listed).toMatchObject({
      liveActivities: [{ activityId: "order-1", tokenSuffix: second.slice(-4) }],
      startTokens: [{ attributesType: TYPE, tokenSuffix: first.slice(-4) }],
    });
    expect(JSON.stringify(listed)).not.toContain(second);
  });

  test("is removed as often as the app asks, and goes with its device", async () => {
    const { account, phone } = await newPhone();
    const [activity, start] = [`${phone}/live-activities/a`, `${phone}/live-activity-start-tokens/${TYPE}`];
    for (const path of [activity, start]) {
      expect(await put(account, path, { attributesType: TYPE, token: newToken() })).toMatchObject({ http: 200 });
      expect([await remove(account, path), await remove(account, path)]).toEqual([204, 204]);
    }
    expect(await list(account, phone)).toEqual({ liveActivities: [], startTokens: [] });
    await put(account, activity, { attributesType: TYPE, token: newToken() });
    await put(account, start, { token: newToken() });
    expect(await remove(account, phone)).toBe(204);
    const deviceId = phone.slice(-36);
    expect(await ctx().db.liveActivity.count({ where: { deviceId } })).toBe(0);
    expect(await ctx().db.liveActivityStartToken.count({ where: { deviceId } })).toBe(0);
  });

  test("is one of the 20 that the app has registered last", async () => {
    const { account, phone } = await newPhone();
    for (let i = 1; i <= 21; i++) {
      clock.advance(1_000);
      await put(account, `${phone}/live-activities/a${i}`, { attributesType: TYPE, token: newToken() });
      await put(account, `${phone}/live-activity-start-tokens/T${i}`, { token: newToken() });
    }
    const listed = (await list(account, phone)) as Record<string, { activityId?: string; attributesType: string }[]>;
    expect(listed.liveActivities?.map(({ activityId }) => activityId)).toEqual(
      Array.from({ length: 20 }, (_, i) => `a${21 - i}`),
    );
    expect(listed.startTokens?.map(({ attributesType }) => attributesType)).toEqual(
      Array.from({ length: 20 }, (_, i) => `T${21 - i}`),
    );
  });

  test("is in the account's export, without the token", async () => {
    const { account, phone } = await newPhone();
    const token = newToken();
    await put(account, `${phone}/live-activities/order-1`, { attributesType: TYPE, token });
    await put(account, `${phone}/live-activity-start-tokens/${TYPE}`, { token });
    const exported = await ctx().db.$transaction((tx) => exportDevices(tx, account.id));
    expect(exported).toMatchObject([
      { liveActivities: [{ activityId: "order-1" }], liveActivityStartTokens: [{ attributesType: TYPE }] },
    ]);
    expect(JSON.stringify(exported)).not.toContain(token);
  });

  test.each([
    ["pending", { status: "pending" as const }],
    ["invalid", { status: "invalid" as const }],
    ["web", { environment: "web" as const }],
  ])("is refused for a device that is %s", async (_, change) => {
    const { account, phone } = await newPhone(change);
    const json = { attributesType: TYPE, token: newToken() };
    const refused = { http: 409, code: "device_not_active" };
    expect(await put(account, `${phone}/live-activities/a`, json)).toMatchObject(refused);
    expect(await put(account, `${phone}/live-activity-start-tokens/${TYPE}`, json)).toMatchObject(refused);
  });

  test("is nobody else's to register, list or remove", async () => {
    const [owner, other] = [await newAccount(), await newAccount()];
    const json = { attributesType: TYPE, token: newToken() };
    const unknown = { http: 404, code: "device_not_found" };
    for (const phone of [await phoneOf(owner), `/api/push/devices/${randomUUID()}`, "/api/push/devices/x"]) {
      const paths = [`${phone}/live-activities/a`, `${phone}/live-activity-start-tokens/${TYPE}`];
      for (const path of paths) {
        expect(await put(other, path, json)).toMatchObject(unknown);
        expect(await remove(other, path)).toBe(404);
      }
      expect(await list(other, phone)).toMatchObject({ code: "device_not_found" });
    }
  });

  test.each([
    ["live-activities/a", { attributesType: TYPE, token: "abc" }],
    ["live-activities/a", { attributesType: "", token: "ab".repeat(32) }],
    ["live-activities/a", { attributesType: "no type", token: "ab".repeat(32) }],
    [`live-activities/${"a".repeat(65)}`, { attributesType: TYPE, token: "ab".repeat(32) }],
    ["live-activities/-", { attributesType: TYPE, token: "ab".repeat(32) }],
    ["live-activity-start-tokens/9", { token: "ab".repeat(32) }],
    [`live-activity-start-tokens/${TYPE}`, {}],
  ])("at %s with %j is invalid", async (name, json) => {
    const { account, phone } = await newPhone();
    const { http } = await put(account, `${phone}/${name}`, json);
    expect([400, 404, 422]).toContain(http);
    expect(await list(account, phone)).toEqual({ liveActivities: [], startTokens: [] });
  });
});
