import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Message } from "@/lib/push/notifications";
import { queueBroadcast, startBroadcast } from "@/lib/push/outbox/broadcasts";
import { enqueue } from "@/lib/push/outbox/enqueue";
import { removeAccountReceipts } from "@/lib/push/outbox/receipts";
import { endOfQuietHours } from "@/lib/push/time-to-notify";
import { claimDeliveries } from "@/lib/push/worker/claim-deliveries";
import { maintainOutbox } from "@/lib/push/worker/maintenance";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";
import { countLockWaits, postgresUrl } from "@/tests/support/database";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import {
  accountWithDevices,
  activeDevices,
  clearOutbox,
  deliverDue,
  recordingPush,
  sendDue,
} from "@/tests/support/push/push";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";

const PREFERENCES = "/api/push/preferences";
const HOUR_MS = 60 * 60 * 1000;
const NIGHT = { startsAt: "22:00", endsAt: "07:00" };
const renewed: Message = { kind: "billing.renewed", purchaseId: randomUUID() };

beforeEach(clearOutbox);

const choose = ({ token }: TestAccount, json: unknown) => call("PUT", PREFERENCES, { json, token });

/** Quiet hours that began an hour before `now` in a time zone, and end an hour after it. */
function quietAround(now: Date, timeZone: string) {
  const time = (ms: number) =>
    new Date(+now + ms).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZone });
  return { startsAt: time(-HOUR_MS), endsAt: time(HOUR_MS) };
}

async function queue(account: TestAccount, message: Message): Promise<string> {
  const eventKey = `test:${randomUUID()}`;
  await ctx().db.$transaction((tx) => enqueue(tx, ctx().dbNow(), { eventKey, to: { accountId: account.id }, message }));
  return eventKey;
}

describe("/api/push/preferences", () => {
  test("begins with everything on, is replaced as a whole, and is each account's own", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const all = { "billing.payment_failed": true, "billing.renewed": true, "app.new_version": true, custom: true };
    const read = async ({ token }: TestAccount) => (await get(PREFERENCES, { token })).json();
    expect(await read(ann)).toMatchObject({ kinds: all, quietHours: null });
    const chosen = await choose(ann, { kinds: { custom: false, "security.new_sign_in": false }, quietHours: NIGHT });
    expect(await chosen.json()).toMatchObject({ kinds: { ...all, custom: false }, quietHours: NIGHT });
    expect(await read(ann)).toMatchObject({ kinds: { ...all, custom: false }, quietHours: NIGHT });
    expect(JSON.stringify(await read(ann))).not.toContain("security");
    expect(await read(bob)).toMatchObject({ kinds: all, quietHours: null });
    expect(await (await choose(ann, {})).json()).toMatchObject({ kinds: all, quietHours: null });
  });

  test.each([
    [{ quietHours: { startsAt: "22:00" } }],
    [{ quietHours: { startsAt: "24:00", endsAt: "07:00" } }],
    [{ quietHours: { startsAt: "07:00", endsAt: "07:00" } }],
    [{ kinds: { custom: "no" } }],
  ])("rejects %j", async (json) => {
    const response = await choose(await newAccount(), json);
    expect([response.status, await response.json()]).toMatchObject([422, { code: "validation_failed" }]);
  });

  test("is changed by the form on the account page, with an error at the field", async () => {
    const account = await newAccount();
    const cookie = cookiesOf(await submit("sign-in", { email: account.email, password: account.password }));
    const fields = { "kind.custom": "on", "kind.security.new_sign_in": "on", ...NIGHT };
    const saved = await submit("account/notifications", fields, { cookie });
    expect(saved.headers.get("location")).toBe("/account?done=notifications_set");
    const stored = await (await get(PREFERENCES, { token: account.token })).json();
    expect(stored).toMatchObject({ kinds: { custom: true, "billing.renewed": false }, quietHours: NIGHT });
    const errorsOf = async (changed: Record<string, string>) =>
      flashOf(await submit("account/notifications", { ...fields, ...changed }, { cookie }))?.fields;
    expect(await errorsOf({ endsAt: "" })).toEqual({ endsAt: "Required" });
    expect(await errorsOf({ startsAt: "" })).toEqual({ startsAt: "Required" });
    expect(await errorsOf({ endsAt: NIGHT.startsAt })).toEqual({ endsAt: "Must not be the start" });
    await submit("account/notifications", {}, { cookie });
    expect(await (await get(PREFERENCES, { token: account.token })).json()).toMatchObject({ quietHours: null });
  });

  test("is part of the account's export, and deleted with it", async () => {
    const account = await newAccount();
    await choose(account, { quietHours: NIGHT });
    const exported = await get("/api/auth/account/export", { token: account.token });
    expect(await exported.json()).toMatchObject({ notificationPreferences: { quietHours: NIGHT } });
    await ctx().db.account.delete({ where: { id: account.id } });
    expect(await ctx().db.pushPreference.count({ where: { accountId: account.id } })).toBe(0);
  });
});

describe("a kind that is turned off", () => {
  test.runIf(postgresUrl)("leaves no receipts of an account that is being deleted", async () => {
    const [account, device] = await accountWithDevices(1);
    await choose(account, {});
    await queue(account, renewed);
    let choosing: Promise<Response> | undefined;
    await ctx().db.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT FROM "Account" WHERE "id" = ${account.id}::uuid FOR UPDATE`;
      await removeAccountReceipts(tx, account.id);
      choosing = choose(account, { kinds: { "billing.renewed": false } });
      await expect.poll(() => countLockWaits(ctx().db)).toBe(1);
      await tx.account.delete({ where: { id: account.id } });
    });
    expect((await choosing)?.status).toBe(401);
    expect(await ctx().db.pushReceipt.count({ where: { deviceId: device?.id ?? "" } })).toBe(0);
  });

  test("is not queued, and others are", async () => {
    const [account] = await accountWithDevices(1);
    await choose(account, { kinds: { "billing.renewed": false } });
    expect(await deliveriesOf({ eventKey: await queue(account, renewed) })).toEqual([]);
    const other = await queue(account, { kind: "billing.expired", purchaseId: randomUUID() });
    expect(await deliveriesOf({ eventKey: other })).toHaveLength(1);
  });

  test("is refused to an operator who sends it to the account alone", async () => {
    const account = await newAccount();
    const message = { kind: "custom", to: { account: account.email }, title: "A title", body: "A body" };
    const { key: token } = await newKey({ scopes: ["push:send"] });
    const send = async () => (await post("/api/admin/push/messages", message, { token })).json();
    expect(await send()).toMatchObject({ code: "no_active_device" });
    await activeDevices(account, 1);
    await choose(account, { kinds: { custom: false } });
    expect(await send()).toMatchObject({ code: "notifications_turned_off" });
  });

  test("is cancelled where it waits", async () => {
    const [account] = await accountWithDevices(1, { timeZone: "Europe/Berlin" });
    const quietHours = quietAround(clock.now(), "Europe/Berlin");
    await choose(account, { quietHours });
    const eventKey = await queue(account, renewed);
    await choose(account, { kinds: { "billing.renewed": false }, quietHours });
    expect(await deliveriesOf({ eventKey })).toMatchObject([{ state: "cancelled", reason: "turned_off" }]);
  });

  test.each<[string, (turnOff: () => Promise<unknown>) => Promise<unknown>]>([
    [
      "whose first attempt fails meanwhile",
      (turnOff) => {
        const respond = async () => {
          await turnOff();
          return { status: 500, reason: "InternalServerError" };
        };
        return deliverDue({ push: recordingPush(respond).push });
      },
    ],
    [
      "whose worker is killed meanwhile",
      async (turnOff) => {
        await claimDeliveries(ctx(), { notBefore: new Date(0), limit: 1 });
        await turnOff();
        clock.advance(HOUR_MS);
        await maintainOutbox(ctx());
      },
    ],
  ])("is not sent again %s", async (_, attempt) => {
    const [account] = await accountWithDevices(1);
    const eventKey = await queue(account, renewed);
    await attempt(() => choose(account, { kinds: { "billing.renewed": false } }));
    clock.advance(HOUR_MS);
    expect(await sendDue()).toEqual([]);
    expect(await deliveriesOf({ eventKey })).toMatchObject([{ state: "cancelled", reason: "expired", attempts: 1 }]);
  });

  test("is left out of an announcement", async () => {
    const bundleId = `com.example.${randomUUID()}`;
    const [ann, bob] = [await newAccount(), await newAccount()];
    await activeDevices(ann, 1, { bundleId });
    const [device] = await activeDevices(bob, 1, { bundleId });
    await choose(ann, { kinds: { "app.new_version": false } });
    expect(await announced(bundleId)).toMatchObject([{ deviceId: device?.id }]);
  });
});

async function announced(bundleId: string, perSecond = 1) {
  const eventKey = `version:${randomUUID()}`;
  const message: Message = { kind: "app.new_version", version: "2.0.0" };
  const broadcast = { eventKey, message, bundleId, perSecond, estimatedDevices: 1 };
  await ctx().db.$transaction((tx) => startBroadcast(tx, ctx().dbNow(), broadcast));
  while (await queueBroadcast(ctx()));
  return (await deliveriesOf({ eventKey })).toSorted((a, b) => +a.nextAttemptAt - +b.nextAttemptAt);
}

describe("quiet hours", () => {
  test("postpone notifications to their end in each device's time zone, except those about security", async () => {
    const [account, berlin] = await accountWithDevices(1, { timeZone: "Europe/Berlin" });
    const others = await activeDevices(account, 1, { timeZone: "Asia/Kolkata" });
    const unknown = [null, "Mars/Olympus"];
    for (const timeZone of unknown) others.push(...(await activeDevices(account, 1, { timeZone })));
    const now = clock.now();
    await choose(account, { quietHours: quietAround(now, "Europe/Berlin") });
    const eventKey = await queue(account, renewed);
    const { push, sent } = recordingPush();
    await deliverDue({ push });
    expect(sent.map(({ token }) => token).sort()).toEqual(others.map(({ token }) => token).sort());
    const [waiting] = (await deliveriesOf({ eventKey })).filter(({ state }) => state === "queued");
    expect(waiting?.deviceId).toBe(berlin?.id);
    expect(waiting?.nextAttemptAt).toEqual(new Date(new Date(+now + HOUR_MS).setUTCSeconds(0, 0)));
    await queue(account, { kind: "security.password_changed", eventId: randomUUID() });
    await deliverDue({ push });
    expect(sent.filter(({ token }) => token === berlin?.token)).toHaveLength(1);
    clock.advance(HOUR_MS + 60_000);
    await deliverDue({ push });
    expect(sent.filter(({ token }) => token === berlin?.token)).toHaveLength(2);
  });

  test("end for many devices at the rate of an announcement", async () => {
    const bundleId = `com.example.${randomUUID()}`;
    const [account] = await accountWithDevices(3, { bundleId, timeZone: "Europe/Berlin" });
    await choose(account, { quietHours: quietAround(clock.now(), "Europe/Berlin") });
    const rows = await announced(bundleId);
    const first = +(rows[0]?.nextAttemptAt ?? 0);
    expect(first).toBeGreaterThan(+clock.now() + HOUR_MS / 2);
    expect(rows.map(({ nextAttemptAt }) => +nextAttemptAt - first)).toEqual([0, 1_000, 2_000]);
  });

  const night = { startMinutes: 22 * 60, endMinutes: 7 * 60 };
  test.each([
    ["in the evening", "2026-11-20T22:30:00Z", "Europe/London", night, "2026-11-21T07:00:00Z"],
    ["in the morning", "2026-11-20T06:59:59Z", "Europe/London", night, "2026-11-20T07:00:00Z"],
    ["at their start", "2026-11-20T22:00:00Z", "Europe/London", night, "2026-11-21T07:00:00Z"],
    ["at their end", "2026-11-20T07:00:00Z", "Europe/London", night, "2026-11-20T07:00:00Z"],
    ["when summer time begins", "2026-03-28T22:30:00Z", "Europe/Berlin", night, "2026-03-29T05:00:00Z"],
    ["when summer time ends", "2026-10-24T21:30:00Z", "Europe/Berlin", night, "2026-10-25T06:00:00Z"],
    ["half an hour from UTC", "2026-11-20T17:00:00Z", "Asia/Kolkata", night, "2026-11-21T01:30:00Z"],
    ["when half an hour is skipped", "2026-10-03T12:30:00Z", "Australia/Lord_Howe", night, "2026-10-03T20:00:00Z"],
    [
      "with an end that the clock skips",
      "2026-03-29T00:30:00Z",
      "Europe/Berlin",
      { startMinutes: 60, endMinutes: 150 },
      "2026-03-29T01:30:00Z",
    ],
    [
      "with an end that the clock shows twice",
      "2026-10-24T23:30:00Z",
      "Europe/Berlin",
      { startMinutes: 60, endMinutes: 150 },
      "2026-10-25T00:30:00Z",
    ],
    ["in an unknown zone", "2026-11-20T23:00:00Z", "Mars/Olympus", night, "2026-11-20T23:00:00Z"],
  ])("%s", (_, at, timeZone, quiet, end) => {
    expect(endOfQuietHours(new Date(at), timeZone, quiet).toISOString()).toBe(end.replace("Z", ".000Z"));
  });
});
