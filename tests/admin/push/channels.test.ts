import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { call, get, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import { startApns } from "@/tests/support/push/apns";
import { BUNDLE_ID } from "@/tests/support/push/push";

const CHANNELS = "/api/admin/push/channels";
const seconds = (time: string) => Math.floor(Date.parse(time) / 1000);

type Channel = { id: string; channelId: string; messageStoragePolicy: string };
type Answer<T> = T & { http: number; code?: string; reason?: string; errors?: { pointer: string }[] };

async function json<T>(response: Promise<Response>): Promise<Answer<T>> {
  const answered = await response;
  return { ...((await answered.json()) as T), http: answered.status };
}

/** Runs a test with an operator's key, and a service that is connected to a fake APNs. */
async function withApns(
  run: (apns: Awaited<ReturnType<typeof startApns>>, token: string) => Promise<unknown>,
  changed: Parameters<typeof startApns>[1] = {},
) {
  const apns = await startApns(undefined, changed);
  const { key } = await newKey({ scopes: ["push:send"] });
  await withContext({ push: apns.transport() }, () => run(apns, key));
}

const create = (token: string, messageStoragePolicy = "none", fields: object = {}) =>
  json<Channel>(post(CHANNELS, { messageStoragePolicy, ...fields }, { token }));
const broadcast = (token: string, id: string, fields: object = {}) =>
  json<{ sentAt: string }>(
    post(`${CHANNELS}/${id}/broadcasts`, { event: "update", contentState: { goals: 1 }, ...fields }, { token }),
  );

describe("broadcast channels", () => {
  test("are created, listed, shown and deleted at APNs, and in the audit trail", () =>
    withApns(async (apns, token) => {
      const [first, second] = [await create(token, "none"), await create(token, "most_recent")];
      expect(first).toMatchObject({ http: 201, environment: "production", bundleId: BUNDLE_ID });
      expect(Buffer.from(first.id, "base64url")).toEqual(Buffer.from(first.channelId, "base64"));
      const list = await json<{ channels: Channel[] }>(get(CHANNELS, { token }));
      expect(list.channels.map(({ id }) => id).sort()).toEqual([first.id, second.id].sort());
      for (const { id, messageStoragePolicy } of [first, second]) {
        expect(await json(get(`${CHANNELS}/${id}`, { token }))).toMatchObject({ http: 200, id, messageStoragePolicy });
      }
      expect((await call("DELETE", `${CHANNELS}/${first.id}`, { token })).status).toBe(204);
      expect(await json(get(`${CHANNELS}/${first.id}`, { token }))).toMatchObject({ http: 404, code: "not_found" });
      expect(await json(call("DELETE", `${CHANNELS}/${first.id}`, { token }))).toMatchObject({ http: 404 });
      expect(await json(get(CHANNELS, { token }))).toMatchObject({ channels: [{ id: second.id }] });
      const events = await ctx().db.auditEvent.findMany({
        where: { target: `channel:${first.channelId}` },
        orderBy: { id: "asc" },
      });
      expect(events.map(({ type }) => type)).toEqual(["push_channel_created", "push_channel_deleted"]);
      expect(apns.rejected).toEqual(["ChannelNotRegistered", "ChannelNotRegistered"]);
    }));

  test("are created once for each Idempotency-Key", () =>
    withApns(async (_, token) => {
      const headers = { "idempotency-key": randomUUID() };
      const again = () => json<Channel>(post(CHANNELS, { messageStoragePolicy: "none" }, { token, headers }));
      expect((await again()).id).toBe((await again()).id);
      expect(await json(get(CHANNELS, { token }))).toMatchObject({ channels: [expect.anything()] });
    }));

  test("are as many as APNs allows", () =>
    withApns(
      async (_, token) => {
        expect(await create(token)).toMatchObject({ http: 201 });
        expect(await create(token)).toMatchObject({
          http: 422,
          code: "apns_rejected",
          reason: "CannotCreateChannelConfig",
        });
      },
      { maxChannels: 1 },
    ));

  test("are refused for an app that is not configured, and without the scope", () =>
    withApns(async (_, token) => {
      const other = "com.example.other";
      const unknown = { http: 422, errors: [{ pointer: "/bundleId" }] };
      expect(await create(token, "none", { bundleId: other })).toMatchObject(unknown);
      expect(await json(get(`${CHANNELS}?bundleId=${other}`, { token }))).toMatchObject(unknown);
      expect(await create(token, "forever")).toMatchObject({ http: 422 });
      const { key: reader } = await newKey({ scopes: ["push:read"] });
      expect(await create(reader)).toMatchObject({ http: 403 });
      expect(await json(get(CHANNELS, { token: reader }))).toMatchObject({ http: 200 });
      expect((await post(CHANNELS, { messageStoragePolicy: "none" })).status).toBe(401);
    }));

  test("need a connection to APNs", async () => {
    const { key: token } = await newKey({ scopes: ["push:send"] });
    expect(await json(get(CHANNELS, { token }))).toMatchObject({ http: 503, code: "push_not_configured" });
    const apns = await startApns();
    await withContext({ push: apns.transport({ port: 1 }) }, async () => {
      expect(await json(get(CHANNELS, { token }))).toMatchObject({ http: 503, code: "apns_unavailable" });
    });
    const otherKey = await startApns();
    await withContext({ push: apns.transport({ port: otherKey.port }) }, async () => {
      const refused = { http: 422, code: "apns_rejected", reason: "InvalidProviderToken" };
      expect(await json(get(CHANNELS, { token }))).toMatchObject(refused);
    });
  });
});

describe("a broadcast", () => {
  test("is sent once to APNs for all who listen to the channel", () =>
    withApns(async (apns, token) => {
      const { id, channelId } = await create(token, "most_recent");
      const sent = await broadcast(token, id, { priority: 5, ttlSeconds: 3_600 });
      expect(sent).toMatchObject({ http: 200, channelId });
      expect(apns.received).toMatchObject([
        {
          headers: {
            ":path": `/4/broadcasts/apps/${BUNDLE_ID}`,
            "apns-channel-id": channelId,
            "apns-push-type": "liveactivity",
            "apns-priority": "5",
            "apns-expiration": String(seconds(sent.sentAt) + 3_600),
          },
          payload: { aps: { timestamp: seconds(sent.sentAt), event: "update", "content-state": { goals: 1 } } },
        },
      ]);
      expect(apns.received[0]?.headers["apns-topic"]).toBeUndefined();
      await broadcast(token, id, { event: "end", contentState: undefined, dismissalDate: "2031-01-01T00:00:00Z" });
      expect(apns.received[1]?.payload.aps).toMatchObject({ event: "end", "dismissal-date": 1_924_992_000 });
      const events = await ctx().db.auditEvent.findMany({
        where: { target: `channel:${channelId}`, type: "push_sent" },
      });
      expect(events).toHaveLength(2);
    }));

  test("that APNs is to store needs a channel that stores it", () =>
    withApns(async (_, token) => {
      const { id } = await create(token, "none");
      const refused = { http: 422, code: "apns_rejected", reason: "BadExpirationDate" };
      expect(await broadcast(token, id, { ttlSeconds: 60 })).toMatchObject(refused);
      expect(await broadcast(token, id)).toMatchObject({ http: 200 });
    }));

  test("may have 5,120 bytes", () =>
    withApns(async (apns, token) => {
      const { id } = await create(token);
      expect(await broadcast(token, id, { contentState: { text: "x".repeat(5_000) } })).toMatchObject({ http: 200 });
      expect(await broadcast(token, id, { contentState: { text: "x".repeat(5_120) } })).toMatchObject({
        http: 422,
        errors: [{ pointer: "/contentState" }],
      });
      expect(apns.received).toHaveLength(1);
    }));

  test("reports when APNs is busy and when to try again, and repeats a request with a new provider token", () =>
    withApns(async (apns, token) => {
      const { id } = await create(token);
      apns.replyWith("", { status: 429, reason: "TooManyRequests", retryAfter: "30" });
      const response = await post(`${CHANNELS}/${id}/broadcasts`, { event: "update", contentState: {} }, { token });
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toBe("30");
      expect(await response.json()).toMatchObject({ code: "apns_unavailable", reason: "TooManyRequests" });
      apns.replyWith("", { status: 403, reason: "ExpiredProviderToken" });
      expect(await broadcast(token, id)).toMatchObject({ http: 200 });
      apns.replyWith("", "hang up");
      expect(await broadcast(token, id)).toMatchObject({ http: 503, code: "apns_unavailable" });
      expect(await broadcast(token, id)).toMatchObject({ http: 200 });
    }));

  test("to an unknown channel, or that starts an activity, is refused", () =>
    withApns(async (_, token) => {
      expect(await broadcast(token, "AAAA")).toMatchObject({ http: 404, code: "not_found" });
      const { id } = await create(token);
      expect(await broadcast(token, id, { event: "start" })).toMatchObject({ http: 422 });
      expect(await broadcast(token, id, { contentState: undefined })).toMatchObject({ http: 422 });
      expect((await post(`${CHANNELS}/a.b/broadcasts`, { event: "end" }, { token })).status).toBeGreaterThan(399);
    }));
});
