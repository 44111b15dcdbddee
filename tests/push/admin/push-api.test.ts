import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { queueBroadcast } from "@/lib/push/outbox/broadcasts";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { loseResponses } from "@/tests/support/idempotency";
import { answered, MESSAGES, newSender } from "@/tests/support/push/admin";
import {
  accountWithDevices,
  activeDevices,
  clearOutbox,
  deliverDue,
  queueFor,
  recordingPush,
  sendDue,
} from "@/tests/support/push/push";
import { manifestEntry } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";

type Message = { id: string; status: string; title: string | null; code?: string; devices: number };
type Delivery = { id: string; state: string; reason: string | null; deviceId: string; title: string | null };

type Warned = { warnings: { code: string; detail: string }[] };

const failing = (reason: string, status = 400) => recordingPush(async () => ({ status, reason })).push;

let token = "";

beforeEach(async () => {
  await clearOutbox();
  token = await newSender();
});

const custom = (account: string, fields: object = {}) => ({
  kind: "custom",
  to: { account },
  title: "A title",
  body: "A body",
  ...fields,
});

async function allDeliveries(query: string, token: string, limit = 2): Promise<Delivery[]> {
  const found: Delivery[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const path = `/api/admin/push/deliveries?limit=${limit}&${query}${cursor && `&cursor=${cursor}`}`;
    const page: { deliveries: Delivery[]; nextCursor: string | null } = await answered(get(path, { token }));
    found.push(...page.deliveries);
    cursor = page.nextCursor;
  }
  return found;
}

describe("a message to an account", () => {
  test("is sent once for each Idempotency-Key, listed with its outcome, and in the audit trail", async () => {
    const [account] = await accountWithDevices(2);
    const headers = { "idempotency-key": randomUUID() };
    const send = () => answered<Message>(post(MESSAGES, custom(account.email), { token, headers }));
    const sent = await send();
    expect(sent).toMatchObject({
      http: 201,
      kind: "custom",
      title: "A title",
      devices: 2,
      to: { accountId: account.id },
    });
    expect(await send()).toMatchObject({ id: sent.id });
    await sendDue();
    const { messages } = await answered<{ messages: Message[] }>(get(`${MESSAGES}?account=${account.id}`, { token }));
    expect(messages).toMatchObject([{ id: sent.id, status: "ended", sent: 2, failed: 0 }]);
    const events = await ctx().db.auditEvent.findMany({ where: { target: `push:${sent.id}` } });
    expect(events).toMatchObject([{ type: "push_sent", actor: expect.stringMatching(/^key:/) }]);
    expect(JSON.stringify(events)).not.toContain("A body");
  });

  test.each([0, 60])(
    "is not sent again if the process ended before it could answer (in %i minutes)",
    async (minutes) => {
      const [account] = await accountWithDevices(2);
      const headers = { "idempotency-key": randomUUID() };
      const sendAt = new Date(clock.now().getTime() + minutes * 60_000).toISOString();
      const message = { ...custom(account.email), ...(minutes > 0 && { sendAt }) };
      const send = () => answered<Message>(post(MESSAGES, message, { token, headers }));
      const { id } = await send();
      await loseResponses();
      expect(await send()).toMatchObject({ id, http: 201 });
      const { messages } = await answered<{ messages: Message[] }>(get(`${MESSAGES}?account=${account.id}`, { token }));
      expect(messages).toHaveLength(1);
    },
  );

  test("with a key that was used before is another one, if it has another text or the day is over", async () => {
    const [account] = await accountWithDevices(1);
    const headers = { "idempotency-key": randomUUID() };
    const send = (body: string) =>
      answered<Message>(post(MESSAGES, { ...custom(account.email), body }, { token, headers }));
    const ids = [(await send("One")).id];
    await loseResponses();
    ids.push((await send("Two")).id);
    clock.advance(25 * 3_600_000);
    ids.push((await send("Two")).id);
    expect(new Set(ids).size).toBe(3);
  });

  test("can be sent to one device first", async () => {
    const [, test] = await accountWithDevices(2);
    const { push, sent } = recordingPush();
    const message = { ...custom("-"), to: { deviceId: test?.id } };
    expect(await answered(post(MESSAGES, message, { token }))).toMatchObject({ http: 201, devices: 1 });
    await deliverDue({ push });
    expect(sent).toMatchObject([{ token: test?.token, payload: { aps: { alert: { title: "A title" } } } }]);
  });

  test("shows an operator's text and that of no other kind", async () => {
    const account = await newAccount();
    await post("/api/push/register", { token: "ab".repeat(32) }, { token: account.token });
    const text = await (await get(`${MESSAGES}?account=${account.id}`, { token })).text();
    const { messages } = JSON.parse(text) as { messages: Message[] };
    expect(messages).toMatchObject([{ kind: "push.challenge", title: null }]);
    const details = await get(`${MESSAGES}/${messages[0]?.id}`, { token });
    expect(await details.json()).toMatchObject({ title: null, body: null, link: null });
  });

  test("is listed by its title, an announcement by its version, and another kind by neither", async () => {
    const [account, device] = await accountWithDevices(1, { bundleId: `com.example.${randomUUID()}` });
    await post(MESSAGES, custom(account.email), { token });
    await post("/api/push/register", { token: "cd".repeat(32) }, { token: account.token });
    const version = `4.${Math.floor(Math.random() * 1e9)}`;
    const to = { audience: { bundleId: device?.bundleId } };
    await withContext({ config: { APNS_BUNDLE_IDS: [device?.bundleId ?? ""] } }, async () => {
      expect(await answered(post(MESSAGES, { kind: "app.new_version", version, to }, { token }))).toMatchObject({
        http: 201,
      });
      while (await queueBroadcast(ctx()));
    });
    const listed = async () =>
      (await allDeliveries(`account=${account.id}`, token)).map(({ title }) => title).toSorted();
    expect(await listed()).toEqual([version, "A title", null]);
    await sendDue();
    expect(await listed()).toEqual([version, "A title", null]);
    const all = await allDeliveries("", token, 200);
    expect(all.map(({ title }) => title)).toEqual(expect.arrayContaining([version, "A title", null]));
  });

  test("is canceled while it waits", async () => {
    const [account] = await accountWithDevices(1);
    const { id } = await answered<Message>(post(MESSAGES, custom(account.email), { token }));
    const cancel = () => answered<Message>(call("DELETE", `${MESSAGES}/${id}`, { token }));
    expect(await cancel()).toMatchObject({ status: "canceled", cancelled: 1, waiting: 0 });
    expect(await cancel()).toMatchObject({ status: "canceled" });
    const sent = await sendDue();
    expect(sent).toEqual([]);
    const events = await ctx().db.auditEvent.findMany({ where: { target: `push:${id}` }, orderBy: { id: "asc" } });
    expect(events.map(({ type }) => type)).toEqual(["push_sent", "push_canceled"]);
  });

  test.each([
    [{ to: { account: "nobody@example.com" } }, 404, "not_found"],
    [{ to: { deviceId: randomUUID() } }, 409, "no_active_device"],
    [{ to: {} }, 422, "validation_failed"],
    [{ to: { account: "a@example.com", deviceId: randomUUID() } }, 422, "validation_failed"],
    [{ title: " " }, 422, "validation_failed"],
    [{ body: "x".repeat(2_001) }, 422, "validation_failed"],
    [{ kind: "push.challenge" }, 422, "validation_failed"],
    [{ kind: "app.new_version", to: {}, version: "v2" }, 422, "validation_failed"],
    [{ kind: "app.new_version", to: {}, version: "2.0", perSecond: 0 }, 422, "validation_failed"],
    [{ kind: "app.new_version", to: { bundleId: "com.example.other" }, version: "2.0" }, 422, "validation_failed"],
  ])("with %j is refused", async (fields, status, code) => {
    expect(await answered(post(MESSAGES, custom("-", fields), { token }))).toMatchObject({ http: status, code });
  });
});

describe("/api/admin/push", () => {
  test("warns of an announcement of a version that is not published, and says how many devices it notifies", async () => {
    await activeDevices(await newAccount(), 2);
    const devices = await ctx().db.pushDevice.count({ where: { status: "active" } });
    const warningsOf = async (version: string) => {
      const asked = await answered<Warned>(get(`/api/admin/push/estimates?perSecond=2&version=${version}`, { token }));
      expect(asked).toMatchObject({ http: 200, devices, isExact: true, perSecond: 2, seconds: Math.ceil(devices / 2) });
      return asked.warnings;
    };
    await withCatalog(async ({ publish }) => {
      await publish(
        manifestEntry({ version: "5.1.0" }),
        manifestEntry({ version: "5.2.0", buildVersion: "5.2.0.7", platform: "macos" }),
        manifestEntry({ version: "5.3.0-beta.1", channel: "beta" }),
        manifestEntry({ version: "5.4.0", yanked: true }),
        manifestEntry({ version: "5.5.0", rollout: 0 }),
        manifestEntry({ version: "5.6.0", rollout: 10 }),
      );
      for (const version of ["5.1", "5.2.0.7", "5.3.0-beta.1", "5.6"]) {
        expect([version, await warningsOf(version)]).toEqual([version, []]);
      }
      for (const version of ["5", "5.3", "5.4.0", "5.5.0", "5.1.0.1", "5.1.0-beta"]) {
        const warnings = [
          { code: "version_not_published", detail: expect.stringMatching(`^${version} is not .* ${devices} devices`) },
        ];
        expect(await warningsOf(version)).toEqual(warnings);
        if (version !== "5") continue;
        const audience = await post("/api/admin/push/estimates", { audience: {}, version }, { token });
        const sent = await post(MESSAGES, { kind: "app.new_version", version, to: {} }, { token });
        expect([await answered(audience), await answered(sent)]).toMatchObject([{ warnings }, { warnings }]);
      }
    });
    const other = await get("/api/admin/push/estimates?bundleId=com.example.other", { token });
    expect([other.status, await other.json()]).toMatchObject([422, { code: "validation_failed" }]);
  });

  test("shows a pause, and ends it with what waits for it", async () => {
    const { rows } = await queueFor(2);
    await deliverDue({ push: failing("InvalidProviderToken", 403) });
    const pause = { environment: "production", reason: "403 InvalidProviderToken" };
    const pauses = () => answered(get("/api/admin/push/pauses", { token }));
    expect(await pauses()).toMatchObject({ pauses: [pause] });
    const end = () => answered(call("DELETE", "/api/admin/push/pauses/production", { token }));
    expect(await end()).toMatchObject({ resumed: 2 });
    expect(await end()).toMatchObject({ http: 404 });
    await deliverDue({ push: failing("InvalidProviderToken", 403) });
    clock.advance(6 * 60_000);
    expect(await pauses()).toMatchObject({ pauses: [] });
    await sendDue();
    expect(await rows()).toMatchObject([{ state: "sent" }, { state: "sent" }]);
  });

  test("sends failed deliveries again", async () => {
    const { rows } = await queueFor(2);
    await deliverDue({ push: failing("BadTopic") });
    const ids = [(await rows())[0]?.id, randomUUID()];
    const retry = (body: object) => answered(post("/api/admin/push/retries", body, { token }));
    expect(await retry({ ids })).toMatchObject({ retried: 1, isComplete: true });
    expect(await retry({ ids: ["1"] })).toMatchObject({ http: 422 });
    await sendDue();
    expect(await rows()).toMatchObject([{ state: "sent", attempts: 1 }, { state: "failed" }]);
  });
});

describe("the deliveries", () => {
  test("are listed page by page, each once: those that wait in their order, then those that ended, newest first", async () => {
    await ctx().db.$executeRaw`TRUNCATE "PushReceipt"`;
    const failed = await queueFor(3);
    await deliverDue({ push: failing("BadTopic") });
    clock.advance(1_000);
    const later = clock.now().toISOString();
    const sent = await queueFor(3);
    await sendDue();
    clock.advance(1_000);
    const waiting = await queueFor(3);
    const claimed = (await waiting.rows())[0]?.id ?? "";
    const leaseUntil = new Date(+clock.now() + 60_000);
    await ctx().db.queuedPush.updateMany({ where: { id: claimed }, data: { leaseUntil } });
    const all = await allDeliveries("", token);
    expect(all.map(({ state }) => state)).toEqual([
      "sending",
      "queued",
      "queued",
      "sent",
      "sent",
      "sent",
      "failed",
      "failed",
      "failed",
    ]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(9);
    const ids = async (of: typeof sent) => (await of.rows()).map(({ id }) => id).sort();
    const listed = async (query: string) => (await allDeliveries(query, token)).map(({ id }) => id).sort();
    expect(await listed("state=failed")).toEqual(await ids(failed));
    expect(await listed("reason=BadTopic")).toEqual(await ids(failed));
    expect(await listed("state=sent")).toEqual(await ids(sent));
    expect(await listed("state=sending")).toEqual([claimed]);
    expect(await listed(`endedFrom=${later}`)).toEqual(await ids(sent));
    expect(await listed(`state=failed&endedFrom=${later}`)).toEqual([]);
    expect(await listed("state=cancelled")).toEqual([]);
    expect(JSON.stringify(all)).not.toContain("A body");
    expect(await listed(`account=${sent.account.email}`)).toEqual(await ids(sent));
    const [row] = await failed.rows();
    expect(await listed(`messageId=${row?.messageId}&state=failed&reason=BadTopic`)).toEqual(await ids(failed));
    expect(await listed(`messageId=${row?.messageId}&state=sent`)).toEqual([]);
  });

  test("are not found with a cursor of another list or of none", async () => {
    await queueFor(2);
    const { nextCursor } = await answered<{ nextCursor: string }>(
      get("/api/admin/push/deliveries?limit=1&state=queued", { token }),
    );
    for (const query of [`state=failed&cursor=${nextCursor}`, `cursor=${nextCursor}`, "state=lost", "messageId=1"]) {
      expect((await get(`/api/admin/push/deliveries?${query}`, { token })).status).toBe(400);
    }
    expect((await get(`/api/admin/push/deliveries?account=${"x".repeat(400)}`, { token })).status).toBe(400);
    expect((await get("/api/admin/push/deliveries?account=nobody@example.com", { token })).status).toBe(404);
  });
});

test("the statistics count by hour and reason what has ended, and what is due", async () => {
  await ctx().db.pushOutcomeCount.deleteMany();
  await queueFor(2);
  await sendDue();
  clock.advance(3_600_000);
  await queueFor(1);
  await deliverDue({ push: failing("BadTopic") });
  await queueFor(3);
  type Read = { buckets: { sent: number; failed: number }[]; outcomes: object[]; queue: object };
  const day = await answered<Read>(get("/api/admin/push/statistics", { token }));
  expect(day.buckets).toHaveLength(24);
  expect(day.buckets.slice(-2)).toMatchObject([
    { sent: 2, failed: 0 },
    { sent: 0, failed: 1 },
  ]);
  expect(day.outcomes).toEqual([
    { state: "sent", reason: null, count: 2 },
    { state: "failed", reason: "BadTopic", count: 1 },
  ]);
  expect(day.queue).toMatchObject({ due: 3, oldestDueAt: expect.any(String) });
  const month = await answered<Read>(get("/api/admin/push/statistics?period=month", { token }));
  expect(month.buckets).toHaveLength(30);
  expect(month.outcomes).toEqual(day.outcomes);
});
