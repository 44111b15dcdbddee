import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { removeAccount } from "@/lib/accounts/delete-account";
import { COMMAND_LINE } from "@/lib/platform/audit/operator-events";
import { isAllowedAddress, LOOPBACK_NETWORKS, postMessage, resolveAddress } from "@/lib/platform/outbound";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";
import { startReceiver, verifyWebhook } from "@/tests/support/network/webhook-receiver";
import { attempted, deliveriesOf, newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const URL_PATH = "/api/admin/webhooks";
const NEW = { url: "https://hooks.example.com/homeport", eventTypes: ["account.created"] };
let admin: TestAccount;

beforeAll(async () => {
  admin = await accountWithRole("admin");
});
beforeEach(async () => {
  clock.reset();
  await removeEndpoints();
});

async function create(json: object = NEW, token = admin.token) {
  const response = await post(URL_PATH, json, { token });
  expect(response.status).toBe(201);
  return (await response.json()) as { id: string; secret: string; url: string };
}

describe("an endpoint over the API", () => {
  test("is created, shown without its secret, changed, rotated and deleted, and the trail says so", async () => {
    const { id, secret } = await create();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const stored = await ctx().db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(stored.secret).not.toContain(secret.slice(6));
    const { token } = admin;
    const shown = await (await get(`${URL_PATH}/${id}`, { token })).json();
    expect(shown).toMatchObject({ id, status: "enabled", eventTypes: ["account.created"] });
    expect(JSON.stringify(shown)).not.toContain("whsec_");
    const changed = await call("PATCH", `${URL_PATH}/${id}`, { json: { enabled: false }, token });
    expect(await changed.json()).toMatchObject({ status: "disabled", disabledReason: "operator" });
    expect((await (await post(`${URL_PATH}/${id}/secret`, undefined, { token })).json()).secret).not.toBe(secret);
    expect((await call("DELETE", `${URL_PATH}/${id}`, { token })).status).toBe(204);
    expect((await get(`${URL_PATH}/${id}`, { token })).status).toBe(404);
    const events = await ctx().db.auditEvent.findMany({ where: { target: `webhook:${id}` }, orderBy: { id: "asc" } });
    expect(events.map(({ type }) => type)).toEqual([
      "webhook_created",
      "webhook_changed",
      "webhook_secret_rotated",
      "webhook_deleted",
    ]);
    expect(JSON.stringify(events)).not.toContain("whsec_");
  });

  test("is named by its id in upper case, too: what signs its deliveries stays readable", async () => {
    const receiver = await newReceiver();
    const { token } = admin;
    const rotated = await post(`${URL_PATH}/${receiver.id.toUpperCase()}/secret`, undefined, { token });
    const { secret } = (await rotated.json()) as { secret: string };
    await newAccount();
    await attempted(receiver.id, 1);
    expect(receiver.received.map((one) => verifyWebhook(secret, one).type)).toEqual(["account.created"]);
    const events = await ctx().db.auditEvent.findMany({ where: { target: `webhook:${receiver.id}` } });
    expect(events.map(({ type }) => type)).toContain("webhook_secret_rotated");
  });

  test.each([
    "https://10.0.0.1/",
    "https://169.254.169.254/latest/meta-data",
    "https://[fd00::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://0x0a000001/",
    "https://user:password@hooks.example.com/",
    "ftp://hooks.example.com/",
    "hooks.example.com",
    `https://hooks.example.com/${"x".repeat(3_000)}`,
  ])("is refused with the URL %s", async (url) => {
    expect((await post(URL_PATH, { ...NEW, url }, { token: admin.token })).status).toBe(422);
  });

  test("is refused without a type, or with one that does not exist", async () => {
    for (const eventTypes of [[], ["account.renamed"]]) {
      expect((await post(URL_PATH, { ...NEW, eventTypes }, { token: admin.token })).status).toBe(422);
    }
  });

  test("is one of fifty at most", async () => {
    const row = { ...NEW, secret: "1.x.y", createdAt: new Date() };
    await ctx().db.webhookEndpoint.createMany({ data: Array.from({ length: 50 }, () => row) });
    const response = await post(URL_PATH, NEW, { token: admin.token });
    expect([response.status, (await response.json()).code]).toEqual([409, "webhook_limit_reached"]);
  });
});

describe("the deliveries of an endpoint over the API", () => {
  test("are listed by state and page, shown with payload and response, retried and replayed", async () => {
    const { token } = admin;
    const receiver = await newReceiver();
    receiver.respond = (response) => response.writeHead(200).end("thanks");
    const path = `${URL_PATH}/${receiver.id}`;
    const { eventId } = await (await post(`${path}/test`, undefined, { token })).json();
    const { id: accountId } = await newAccount();
    ctx().webhooks.wake();
    await expect
      .poll(async () => (await deliveriesOf(receiver.id)).map(({ state }) => state))
      .toEqual(["delivered", "delivered"]);
    const page = await (await get(`${path}/deliveries?limit=1&state=delivered`, { token })).json();
    expect(page.deliveries).toMatchObject([{ type: "account.created" }]);
    const next = await (
      await get(`${path}/deliveries?limit=1&state=delivered&cursor=${page.nextCursor}`, { token })
    ).json();
    expect(next).toMatchObject({ deliveries: [{ eventId, type: "webhook.test" }], nextCursor: null });
    expect(await (await get(`${path}/deliveries?state=failed`, { token })).json()).toMatchObject({ deliveries: [] });
    const shown = await (await get(`${path}/deliveries/${page.deliveries[0].eventId}`, { token })).json();
    expect(shown).toMatchObject({ responseStatus: 200, responseBody: "thanks", payload: { data: { accountId } } });
    expect((await post(`${path}/deliveries/${eventId}/retry`, undefined, { token })).status).toBe(202);
    await expect.poll(() => receiver.received.length).toBe(3);
    const since = new Date(Date.now() - 60_000).toISOString();
    const replayed = await post(`${path}/replay`, { since }, { token });
    expect([replayed.status, await replayed.json()]).toEqual([202, { queued: 0 }]);
  });

  test("are not found at another endpoint, and a cursor is valid for its own list alone", async () => {
    const { token } = admin;
    const [one, two] = [await newReceiver(), await newReceiver(["account.deleted"])];
    await newAccount();
    await newAccount();
    const [delivery] = await deliveriesOf(one.id);
    expect((await get(`${URL_PATH}/${two.id}/deliveries/${delivery?.eventId}`, { token })).status).toBe(404);
    const { nextCursor } = await (await get(`${URL_PATH}/${one.id}/deliveries?limit=1`, { token })).json();
    expect((await get(`${URL_PATH}/${two.id}/deliveries?cursor=${nextCursor}`, { token })).status).toBe(400);
  });
});

describe("an address", () => {
  test.each([
    "127.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "ff02::1",
    "not an address",
  ])("that is not public gets no webhook: %s", (address) => {
    expect(isAllowedAddress(address, "https:", [])).toBe(false);
  });

  test("that is public gets webhooks over https, and one that is configured also over http", () => {
    expect(isAllowedAddress("8.8.8.8", "https:", [])).toBe(true);
    expect(isAllowedAddress("2606:4700::1111", "https:", [])).toBe(true);
    expect(isAllowedAddress("8.8.8.8", "http:", LOOPBACK_NETWORKS)).toBe(false);
    expect(isAllowedAddress("10.1.2.3", "http:", ["10.0.0.0/8"])).toBe(true);
  });

  test("is looked up when a webhook is sent: a name that resolves to this machine is refused", async () => {
    const receiver = await startReceiver();
    const url = receiver.url.replace("127.0.0.1", "localhost").replace("http:", "https:");
    await expect(resolveAddress(new URL(url), [])).rejects.toThrow("not an address that requests may go to");
    const attempt = await postMessage({ url, headers: {}, body: "{}" }, []);
    expect(attempt).toMatchObject({ status: null, error: expect.stringContaining("not an address") });
    expect(receiver.received).toEqual([]);
  });
});

describe("deleting an account", () => {
  test("deletes its events, and leaves the one that says so, with the id alone", async () => {
    const receiver = await newReceiver(["account.created", "account.deleted"]);
    const { id, email } = await newAccount();
    await removeAccount(ctx(), id, { caller: COMMAND_LINE, shouldEmail: false });
    const events = await ctx().db.webhookEvent.findMany();
    expect(events).toMatchObject([{ type: "account.deleted", data: { accountId: id }, accountId: null }]);
    expect(JSON.stringify(events)).not.toContain(email);
    expect((await deliveriesOf(receiver.id)).map(({ type }) => type)).toEqual(["account.deleted"]);
    clock.advance(31 * 24 * 3_600_000);
    await ctx().webhooks.removeOldEvents();
    expect(await ctx().db.webhookEvent.count()).toBe(0);
    expect(await ctx().db.webhookDelivery.count()).toBe(0);
  });
});
