import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { queueBroadcast } from "@/lib/push/outbox/broadcasts";
import { BATCH_SIZE } from "@/lib/push/outbox/recipients";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { answered, MESSAGES, newSender } from "@/tests/support/push/admin";
import {
  accountWithDevices,
  activeDevices,
  clearOutbox,
  deliverDue,
  recordingPush,
  sendDue,
} from "@/tests/support/push/push";
import { billingEvent, deliverOk } from "@/tests/support/subscriptions/billing";

type Localized = { aps: { alert: { title: string } } };
type Message = { id: string; status: string; devices: number; code?: string; errors?: object[] };

const DAY_MS = 24 * 60 * 60 * 1000;
const TEXT = { kind: "custom", title: "A title", body: "A body" };
/** A bundle of its own, so that a test sends to its own devices alone. */
let bundleId = "";
let token = "";

beforeEach(async () => {
  await clearOutbox();
  await ctx().db.pushBroadcast.updateMany({ data: { endedAt: ctx().now() } });
  bundleId = `com.example.${randomUUID()}`;
  token = await newSender();
});

function send(message: object, headers: Record<string, string> = {}) {
  const given = "kind" in message ? message : { ...TEXT, ...message };
  const config = { APNS_BUNDLE_IDS: [bundleId] };
  return withContext({ config }, () => answered<Message>(post(MESSAGES, given, { token, headers })));
}

function estimate(input: object) {
  const config = { APNS_BUNDLE_IDS: [bundleId] };
  return withContext({ config }, () => answered(post("/api/admin/push/estimates", input, { token })));
}

const show = async (id: string) => (await get(`${MESSAGES}/${id}`, { token })).json();

/** Inserts so many devices that Prisma would take seconds. */
async function insertActiveDevices({ id }: { id: string }, count: number): Promise<void> {
  await ctx().db.$executeRaw`
    INSERT INTO "PushDevice" ("id", "accountId", "environment", "bundleId", "token", "status", "registeredAt",
      "lastSeenAt")
    SELECT gen_random_uuid(), ${id}::uuid, 'production', ${bundleId}, md5(${bundleId} || n), 'active', ${clock.now()},
      ${clock.now()}
    FROM generate_series(1, ${count}::int) AS n`;
}

/** Queues what is due, sends it, and returns what was sent. */
async function deliver() {
  while (await queueBroadcast(ctx()));
  const sent = await sendDue();
  return sent;
}

describe("a message to an audience", () => {
  const devices = {
    a: { locale: "de_AT", appVersion: "2.0", model: "iPhone18,1" },
    b: { locale: "de", appVersion: "2.1.0", model: "iPad16,3" },
    c: { locale: "den", appVersion: "2.10.0", model: "iPhone17,1", lastSeenAt: new Date("2020-01-01T00:00:00Z") },
    d: { locale: null, appVersion: null, model: null },
  };

  const audiences: [audience: object, wanted: string][] = [
    [{}, "abcd"],
    [{ locale: "de" }, "ab"],
    [{ locale: "de-AT" }, "a"],
    [{ platform: "ios" }, "ac"],
    [{ platform: "ipados" }, "b"],
    [{ appVersion: { from: "2.1.0" } }, "bc"],
    [{ appVersion: { below: "2.10.0" } }, "ab"],
    [{ appVersion: { from: "2.0.0", below: "2.1.0" } }, "a"],
    [{ lastSeen: { before: "2021-01-01T00:00:00Z" } }, "c"],
    [{ lastSeen: { from: "2021-01-01T00:00:00+02:00" }, locale: "de" }, "ab"],
  ];

  test("reaches the devices of the audience, as many as were estimated", async () => {
    const account = await newAccount();
    const names = new Map<string | undefined, string>();
    for (const [name, changed] of Object.entries(devices)) {
      const [device] = await activeDevices(account, 1, { ...changed, bundleId });
      names.set(device?.token, name);
    }
    for (const [filters, wanted] of audiences) {
      const audience = { ...filters, bundleId };
      const { length } = wanted;
      expect(await estimate({ audience })).toMatchObject({ http: 200, devices: length, isExact: true, seconds: 1 });
      expect(await send({ to: { audience } })).toMatchObject({ http: 201, status: "queueing", devices: length });
      const reached = (await deliver()).flatMap(({ token }) => names.get(token) ?? []);
      expect([filters, reached.sort().join("")]).toEqual([filters, wanted]);
    }
  });

  test("with an entitlement reaches the accounts for which it is active, however many are asked", async () => {
    const [ann, bob, carl] = [await newAccount(), await newAccount(), await newAccount()];
    const [device] = await activeDevices(ann, 1, { bundleId });
    for (const other of [bob, carl]) await activeDevices(other, 1, { bundleId });
    const bought = (account: { id: string }, expiration_at_ms: number) =>
      billingEvent("INITIAL_PURCHASE", { app_user_id: account.id, entitlement_ids: ["pro"], expiration_at_ms });
    await deliverOk(bought(ann, +clock.now() + DAY_MS));
    await deliverOk(bought(bob, +clock.now() - 10 * DAY_MS));
    const to = { audience: { bundleId, entitlement: "pro" } };
    expect(await send({ to })).toMatchObject({ devices: 1 });
    expect(await deliver()).toMatchObject([{ token: device?.token }]);
    expect(await send({ to: { audience: { bundleId, entitlement: "other" } } })).toMatchObject({ devices: 0 });
    expect(await deliver()).toEqual([]);
  });

  test("continues when the last device of a batch is deleted, and ends without the devices that were", async () => {
    const account = await newAccount();
    await insertActiveDevices(account, BATCH_SIZE + 2);
    const devices = await ctx().db.pushDevice.findMany({ where: { bundleId }, orderBy: { id: "asc" } });
    const [first, cursor, next, last] = [0, BATCH_SIZE - 1, BATCH_SIZE, BATCH_SIZE + 1].map((i) => devices[i]);
    const chosen = [first, cursor, next, last].flatMap((device) => device?.id ?? []);
    await ctx().db.pushDevice.updateMany({ where: { id: { in: chosen } }, data: { model: "iPhone18,1" } });
    const { id } = await send({ to: { audience: { bundleId, platform: "ios" } } });
    await queueBroadcast(ctx());
    const broadcast = await ctx().db.pushBroadcast.findUniqueOrThrow({ where: { messageId: id } });
    expect(broadcast).toMatchObject({ afterDeviceId: cursor?.id, queued: 2, endedAt: null });
    const remove = (device?: { id: string }) =>
      call("DELETE", `/api/push/devices/${device?.id}`, { token: account.token });
    expect((await remove(cursor)).status).toBe(204);
    while (await queueBroadcast(ctx()));
    expect((await remove(last)).status).toBe(204);
    expect((await deliver()).map(({ token }) => token).sort()).toEqual([first?.token, next?.token].sort());
    expect(await show(id)).toMatchObject({ status: "ended", sent: 2, waiting: 0, failed: 0, cancelled: 0 });
    const canceled = await call("DELETE", `${MESSAGES}/${id}`, { token });
    expect(await canceled.json()).toMatchObject({ status: "ended", canceledAt: null });
  });

  test("keeps its counts when failed deliveries are sent again", async () => {
    await activeDevices(await newAccount(), 2, { bundleId });
    const { id } = await send({ to: { audience: { bundleId } } });
    while (await queueBroadcast(ctx()));
    await deliverDue({ push: recordingPush(async () => ({ status: 400, reason: "BadTopic" })).push });
    expect(await show(id)).toMatchObject({ failed: 2, waiting: 0 });
    await post("/api/admin/push/retries", {}, { token });
    expect(await show(id)).toMatchObject({ failed: 0, waiting: 2 });
    await deliver();
    expect(await show(id)).toMatchObject({ failed: 0, sent: 2, waiting: 0, status: "ended" });
  });
});

describe("an announcement to an audience", () => {
  const announce = (version: string, fields: object) => send({ kind: "app.new_version", version, ...fields });
  const aVersion = () => `3.${Math.floor(Math.random() * 1e9)}.0`;

  test("keeps waiting for its devices when it is announced to others, who have turned it off", async () => {
    await activeDevices(await newAccount(), 1, { bundleId });
    const version = aVersion();
    const { id } = await announce(version, { to: { bundleId } });
    while (await queueBroadcast(ctx()));
    const muted = await newAccount();
    const kinds = { "app.new_version": false };
    await call("PUT", "/api/push/preferences", { token: muted.token, json: { kinds } });
    bundleId = `com.example.${randomUUID()}`;
    await activeDevices(muted, 1, { bundleId });
    expect(await announce(version, { to: { bundleId } })).toMatchObject({ id, http: 201 });
    while (await queueBroadcast(ctx()));
    expect(await show(id)).toMatchObject({ status: "sending", waiting: 1 });
    expect(await (await call("DELETE", `${MESSAGES}/${id}`, { token })).json()).toMatchObject({ status: "canceled" });
    expect(await deliver()).toEqual([]);
  });

  test("reaches its devices once, at its time, and no other audience meanwhile", async () => {
    const [account, old] = await accountWithDevices(1, { bundleId, appVersion: "1.0" });
    const [current] = await activeDevices(account, 1, { bundleId, appVersion: "2.0" });
    const version = aVersion();
    const audience = { bundleId, appVersion: { below: "2.0" } };
    const later = { to: { audience }, sendAt: new Date(+clock.now() + DAY_MS).toISOString() };
    expect(await announce(version, later)).toMatchObject({
      http: 201,
      status: "scheduled",
      devices: 1,
      to: { audience },
    });
    expect(await announce(version, { to: { audience: { appVersion: { below: "2.0" }, bundleId } } })).toMatchObject({
      http: 201,
    });
    expect(await announce(version, { to: { bundleId } })).toMatchObject({ code: "announcement_in_progress" });
    expect(await deliver()).toEqual([]);
    clock.advance(DAY_MS);
    expect((await deliver()).map(({ token }) => token)).toEqual([old?.token]);
    expect(await announce(version, { to: { bundleId } })).toMatchObject({ http: 201, to: { audience: null } });
    expect((await deliver()).map(({ token }) => token)).toEqual([current?.token]);
  });

  test("is refused for a time too far ahead", async () => {
    const sendAt = new Date(+clock.now() + 91 * DAY_MS).toISOString();
    expect(await announce(aVersion(), { sendAt })).toMatchObject({ http: 422, errors: [{ pointer: "/sendAt" }] });
  });
});

describe("a message for a later time", () => {
  const later = (ms: number) => new Date(+clock.now() + ms).toISOString();

  test.each(["account", "audience"])("is queued for the devices that its %s has by then", async (kind) => {
    const [account] = await accountWithDevices(1, { bundleId });
    const to = kind === "account" ? { account: account.email } : { audience: { bundleId } };
    const message = await send({ to, sendAt: later(DAY_MS), ttlSeconds: 3_600 });
    expect(message).toMatchObject({ http: 201, status: "scheduled", devices: 1 });
    await activeDevices(account, 1, { bundleId });
    expect(await deliver()).toEqual([]);
    clock.advance(DAY_MS);
    const sent = await deliver();
    expect(sent).toHaveLength(2);
    const leftMs = sent.map(({ expiresAt }) => +expiresAt - +clock.now());
    for (const ms of leftMs) expect(Math.abs(ms - 3_600_000)).toBeLessThan(60_000);
    expect(await show(message.id)).toMatchObject({ status: "ended", sent: 2, devices: kind === "account" ? 2 : 1 });
  });

  test("is not sent if the service stood still for longer than it is of use", async () => {
    const [account] = await accountWithDevices(1);
    const { id } = await send({ to: { account: account.email }, sendAt: later(DAY_MS), ttlSeconds: 60 });
    clock.advance(DAY_MS + 120_000);
    expect(await deliver()).toEqual([]);
    expect(await show(id)).toMatchObject({ status: "ended", sent: 0 });
  });

  test("is canceled before", async () => {
    const [account] = await accountWithDevices(1);
    const { id } = await send({ to: { account: account.email }, sendAt: later(DAY_MS) });
    const canceled = await (await call("DELETE", `${MESSAGES}/${id}`, { token })).json();
    expect(canceled).toMatchObject({ status: "canceled", waiting: 0 });
    clock.advance(DAY_MS);
    expect(await deliver()).toEqual([]);
  });

  test("is sent at once if the time has passed", async () => {
    const [account] = await accountWithDevices(1);
    await send({ to: { account: account.email }, sendAt: later(-DAY_MS) });
    expect(await deliver()).toHaveLength(1);
  });

  test("is deleted with its account", async () => {
    const account = await newAccount();
    const { id } = await send({ to: { account: account.email }, sendAt: later(DAY_MS) });
    await ctx().db.account.delete({ where: { id: account.id } });
    expect((await get(`${MESSAGES}/${id}`, { token })).status).toBe(404);
  });
});

test("a message is shown in the language of each device, by lookup", async () => {
  const account = await newAccount();
  const locales = ["de_AT", "de-CH", "pt-Hant-x-y-BR", "fr", null, "en_US@calendar=japanese", "@", "DE"];
  const wanted = ["de-at", "de", "pt", "default", "default", "default", "default", "de"];
  const tokens = [];
  for (const locale of locales) tokens.push((await activeDevices(account, 1, { locale }))[0]?.token);
  const text = (title: string) => ({ title, body: "A body" });
  const translations = { de: text("de"), "de-AT": text("de-at"), pt: text("pt") };
  await send({ to: { account: account.email }, title: "default", translations });
  const sent = await deliver();
  const titles = new Map(sent.map(({ token, payload }) => [token, (payload as Localized).aps.alert.title]));
  expect(tokens.map((token) => titles.get(token ?? ""))).toEqual(wanted);
  expect(JSON.stringify(sent)).not.toContain("translations");
});

test("a message has what Apple documents for aps", async () => {
  const [account] = await accountWithDevices(1);
  const options = { badge: 3, category: "EXPORT", threadId: "exports", sound: null, mutableContent: true };
  const level = { relevanceScore: 0.5, interruptionLevel: "passive", collapseId: "export-1" };
  await send({ to: { account: account.email }, ...options, ...level, data: { exportId: "7" }, link: "exports" });
  const [one] = await deliver();
  expect(one).toMatchObject({ pushType: "alert", priority: 5, collapseId: "export-1" });
  expect(one?.payload).toEqual({
    aps: {
      alert: { title: "A title", body: "A body" },
      badge: 3,
      category: "EXPORT",
      "thread-id": "exports",
      "mutable-content": 1,
      "relevance-score": 0.5,
      "interruption-level": "passive",
    },
    data: { v: 1, kind: "custom", exportId: "7", link: "exports", id: one?.id },
  });
});

test("a background message wakes the app, even in quiet hours", async () => {
  const [account] = await accountWithDevices(1, { timeZone: "UTC" });
  const quietHours = { startsAt: "00:00", endsAt: "23:59" };
  await call("PUT", "/api/push/preferences", { json: { kinds: { custom: false }, quietHours }, token: account.token });
  const message = { kind: "background", title: undefined, body: undefined, data: { sync: "notes" } };
  expect(await send({ ...message, to: { account: account.email } })).toMatchObject({ http: 201, kind: "background" });
  const [one] = await deliver();
  expect(one).toMatchObject({ pushType: "background", priority: 5 });
  expect(one?.payload).toEqual({
    aps: { "content-available": 1 },
    data: { v: 1, kind: "background", sync: "notes", id: one?.id },
  });
});

test.each([
  [{ translations: { de: { title: "x", body: "ü".repeat(2_000) } } }, "/body"],
  [{ data: Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`a${i}`, "x".repeat(1_000)])) }, "/body"],
  [{ data: { id: "1" } }, "/data/id"],
  [{ data: { "": "1" } }, "/data/"],
  [{ translations: { "de-": { title: "x", body: "y" } } }, "/translations/de-"],
  [{ translations: { de: { title: "x" } } }, "/translations/de/body"],
  [{ badge: -1 }, "/badge"],
  [{ relevanceScore: 1.1 }, "/relevanceScore"],
  [{ interruptionLevel: "critical" }, "/interruptionLevel"],
  [{ collapseId: "x".repeat(65) }, "/collapseId"],
  [{ sendAt: "tomorrow" }, "/sendAt"],
  [{ sendAt: "2099-01-01T00:00:00Z" }, "/sendAt"],
  [{ ttlSeconds: 0 }, "/ttlSeconds"],
])("a message with %j is refused", async (fields, pointer) => {
  expect(await send({ to: { account: "ann@example.com" }, ...fields })).toMatchObject({
    http: 422,
    code: "validation_failed",
    errors: [{ pointer }],
  });
});

test.each([{ platform: "android" }, { appVersion: { from: "two" } }, { country: "AT" }, { bundleId: "com.example.x" }])(
  "an audience of %j is refused, also for an estimate",
  async (audience) => {
    expect(await send({ to: { audience } })).toMatchObject({ http: 422, code: "validation_failed" });
    expect(await estimate({ audience })).toMatchObject({ http: 422, code: "validation_failed" });
  },
);
