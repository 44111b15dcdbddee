import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import { revokeSession } from "@/lib/auth/sessions/sessions";
import { createWebPush } from "@/lib/platform/adapters/create-adapters";
import { loadConfig } from "@/lib/platform/config";
import { enqueue } from "@/lib/push/outbox/enqueue";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, SECRET } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { PUSH_SERVICE_SETTINGS, startBrowser, verifyVapid } from "@/tests/support/push/browser";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { activeDevices, clearOutbox, deliverDue, deviceRowsOf } from "@/tests/support/push/push";

type Browser = Awaited<ReturnType<typeof startBrowser>>;
type Message = Parameters<typeof enqueue>[2]["message"];

const HELLO: Message = { kind: "custom", title: "Hello", body: "You have news", link: "/news" };

beforeEach(async () => {
  clock.reset();
  await clearOutbox();
});

const register = (account: TestAccount, { subscription }: Pick<Browser, "subscription">, json: object = {}) =>
  post("/api/push/register", { platform: "web", subscription, ...json }, { token: account.token });

async function registered(account: TestAccount, browser: Pick<Browser, "subscription">, json: object = {}) {
  const response = await register(account, browser, json);
  expect(response.status).toBe(200);
  return (await response.json()).device as { id: string; status: string };
}

/** A browser that an account has registered. */
async function registeredBrowser(json: object = {}) {
  const [account, browser] = [await newAccount(), await startBrowser()];
  return { account, browser, device: await registered(account, browser, json) };
}

/** Notifies the devices of an account, and returns its deliveries. */
async function notify(account: TestAccount, message: Message = HELLO, worker: Parameters<typeof deliverDue>[0] = {}) {
  const eventKey = `test:${randomUUID()}`;
  await ctx().db.$transaction((tx) => enqueue(tx, ctx().dbNow(), { eventKey, to: { accountId: account.id }, message }));
  await deliverDue(worker);
  return () => deliveriesOf({ eventKey });
}

describe("a browser", () => {
  test("gets messages that its keys decrypt, signed with the key that it subscribed with", async () => {
    const [account, browser] = [await newAccount(), await startBrowser()];
    const { id, status } = await registered(account, browser);
    expect(status).toBe("active");
    const rows = await notify(account);
    const [message] = browser.received;
    const [delivery] = await rows();
    expect(delivery).toMatchObject({ deviceId: id, state: "sent", attempts: 1 });
    expect(message?.payload).toMatchObject({
      v: 1,
      id: delivery?.id,
      kind: "custom",
      title: "Hello",
      body: "You have news",
      url: "/news",
      tag: null,
      data: { link: "/news" },
    });
    expect(message?.headers).toMatchObject({ "content-encoding": "aes128gcm", urgency: "normal" });
    expect(Number(message?.headers.ttl)).toBeGreaterThan(86_000);
    expect(message?.headers.topic).toBeUndefined();
    const { publicKey } = await (await get("/api/push/vapid-public-key")).json();
    const claims = verifyVapid(String(message?.headers.authorization), publicKey);
    expect(claims).toMatchObject({ aud: browser.origin, sub: "mailto:no-reply@localhost" });
  });

  test("reads what iOS apps localize in its own language, with the urgency and the topic of the kind", async () => {
    const { account, browser } = await registeredBrowser({ device: { locale: "de-AT" } });
    await notify(account, { kind: "billing.renewed", purchaseId: randomUUID() });
    await notify(account, { kind: "security.new_sign_in", eventId: randomUUID(), client: "Firefox" });
    const [renewed, signIn] = browser.received;
    expect(renewed?.payload).toMatchObject({ title: "Abo verlängert", url: null, data: { link: "subscription" } });
    expect(renewed?.payload.tag).toMatch(/^bill:/);
    expect(renewed?.headers).toMatchObject({ urgency: "low", topic: expect.stringMatching(/^[\w-]{32}$/) });
    expect(signIn?.payload).toMatchObject({ body: "Firefox hat sich in Ihrem Konto angemeldet." });
    expect(signIn?.headers.urgency).toBe("high");
  });

  test("that knows declarative messages shows a notification without the app's service worker, and opens the app", async () => {
    const { account, browser } = await registeredBrowser({ appUrl: "https://app.acme.com/beta/" });
    const links = ["/news", "news?a=1", "https://app.acme.com/x", "https://other.com/", "javascript:alert(1)", null];
    for (const link of links) await notify(account, { ...HELLO, link });
    const base = "https://app.acme.com";
    const targets = [`${base}/news`, `${base}/beta/`, `${base}/x`, ...Array(3).fill(`${base}/beta/`)];
    expect(browser.received.map(({ payload }) => payload.notification)).toMatchObject(
      targets.map((navigate) => ({ title: "Hello", body: "You have news", navigate })),
    );
    const [{ payload }] = browser.received as [Browser["received"][number]];
    expect(payload).toMatchObject({ web_push: 8030, mutable: true });
    const { title, body, url, id } = payload;
    expect(payload.notification).toMatchObject({ tag: id, data: { v: 1, id, kind: "custom", url } });
    expect({ title, body, url }).toEqual({ title: "Hello", body: "You have news", url: "/news" });

    // An app that does not say where it starts: browsers resolve the path against it.
    await registered(account, browser);
    await ctx().db.pushDevice.updateMany({ where: { accountId: account.id }, data: { appUrl: null } });
    await notify(account);
    await notify(account, { kind: "billing.expired", purchaseId: randomUUID() });
    const without = browser.received.slice(links.length).map(({ payload: { notification } }) => notification);
    expect(without).toMatchObject([{ navigate: "/news" }, { navigate: "/" }]);
  });

  test("gets the largest message within the 4,096 bytes that every push service takes", async () => {
    const [account, browser] = [await newAccount(), await startBrowser()];
    const [operator, phone] = [await newKey({ scopes: ["push:send"] }), await newAccount()];
    await registered(account, browser);
    await activeDevices(phone, 1);
    const send = async (to: object, length: number) => {
      const translations = { de: { title: "T", body: "x".repeat(length) } };
      const data = { a: "x".repeat(900), b: "x".repeat(900), c: "x".repeat(800) };
      const json = { kind: "custom", to, title: "T", body: "-", translations, data };
      const response = await post("/api/admin/push/messages", json, { token: operator.key });
      return { status: response.status, json: await response.json() };
    };
    await ctx().db.pushDevice.updateMany({ where: { accountId: account.id }, data: { locale: "de" } });
    const to = { account: account.email };
    expect((await send(to, 1_000)).status).toBe(201);
    await deliverDue();
    const largest = 1_000 + 4_096 - (browser.received[0]?.sizeBytes ?? 0);
    const refused = { status: 422, json: { errors: [{ pointer: "/body", code: "too_big" }] } };
    expect(await send(to, largest + 3)).toMatchObject(refused);
    expect((await send(to, largest + 3)).json.errors[0].detail).toMatch(/browsers, .* 4099 bytes; .* is 3 less/);
    expect(await send({ audience: {} }, largest + 1)).toMatchObject(refused);
    expect((await send(to, largest)).status).toBe(201);
    await deliverDue();
    expect(browser.received.map(({ sizeBytes }) => sizeBytes)).toEqual([expect.any(Number), 4_096]);
    expect(browser.received[1]?.payload).not.toHaveProperty("notification");
    expect((await send({ account: phone.email }, largest + 1)).status).toBe(201);
  });

  test("is listed without its endpoint, exported without its keys, and deleted with its session or by its id", async () => {
    const { account, browser, device } = await registeredBrowser({ device: { name: "Firefox" } });
    const { id } = device;
    const listed = await (await get("/api/push/devices", { token: account.token })).text();
    expect(listed).toContain("Firefox");
    expect(listed).not.toContain(browser.subscription.endpoint);
    const exported = await (await get("/api/auth/account/export", { token: account.token })).text();
    expect(exported).toContain(id);
    expect(exported).not.toContain(browser.subscription.keys.auth);
    expect((await call("DELETE", `/api/push/devices/${id}`, { token: account.token })).status).toBe(204);
    await registered(account, browser);
    await revokeSession(ctx(), account.sessionId);
    expect(await deviceRowsOf(account)).toEqual([]);
  });
});

describe("a subscription", () => {
  test("that registers again stays one device, and a new one replaces that of the same installation", async () => {
    const [account, browser, again] = [await newAccount(), await startBrowser(), await startBrowser()];
    const installationId = randomUUID();
    const first = await registered(account, browser, { installationId });
    expect(await registered(account, browser, { installationId })).toMatchObject({ id: first.id });
    await registered(account, again, { installationId });
    expect(await deviceRowsOf(account)).toMatchObject([{ token: again.subscription.endpoint }]);
  });

  test("of the same installation takes over what is queued for the old one", async () => {
    const [account, browser, again] = [await newAccount(), await startBrowser(), await startBrowser()];
    const installationId = randomUUID();
    browser.respond = (response) => response.writeHead(503).end();
    const first = await registered(account, browser, { installationId });
    const rows = await notify(account);
    expect(await rows()).toMatchObject([{ state: "queued", apnsStatus: 503 }]);
    await registered(account, again, { installationId });
    clock.advance(3_600_000);
    await deliverDue();
    expect(again.received).toMatchObject([{ payload: { title: "Hello" } }]);
    expect(await rows()).toMatchObject([{ deviceId: first.id, state: "sent" }]);
  });

  test("that is replaced while a message is on its way to its old endpoint gets the message, too", async () => {
    const [account, browser, again] = [await newAccount(), await startBrowser(), await startBrowser()];
    const installationId = randomUUID();
    browser.respond = async (response) => {
      await registered(account, again, { installationId });
      response.writeHead(410).end();
    };
    await registered(account, browser, { installationId });
    const rows = await notify(account);
    await deliverDue();
    expect(again.received).toMatchObject([{ payload: { title: "Hello" } }]);
    expect(await rows()).toMatchObject([{ state: "sent", attempts: 2 }]);
  });

  test("moves to another account that knows its keys, and to nobody who knows its endpoint alone", async () => {
    const [ann, bob, browser] = [await newAccount(), await newAccount(), await startBrowser()];
    await registered(ann, browser);
    const { keys } = (await startBrowser()).subscription;
    const stolen = await register(bob, { subscription: { ...browser.subscription, keys } });
    expect(stolen.status).toBe(422);
    expect(await stolen.json()).toMatchObject({ code: "evidence_invalid", reason: "subscription_mismatch" });
    expect(await deviceRowsOf(ann)).toHaveLength(1);
    await Promise.all([registered(bob, browser), registered(bob, browser)]);
    expect([await deviceRowsOf(ann), await deviceRowsOf(bob)]).toMatchObject([[], [{ status: "active" }]]);
  });

  test.each([404, 410])("is removed when its push service responds %i", async (status) => {
    const [account, browser] = [await newAccount(), await startBrowser()];
    browser.respond = (response) => response.writeHead(status).end();
    await registered(account, browser);
    const rows = await notify(account);
    expect(await rows()).toMatchObject([{ state: "failed", apnsStatus: status }]);
    expect(await deviceRowsOf(account)).toEqual([]);
  });

  test("waits as long as Retry-After asks for, and stays after any other response", async () => {
    const [account, browser] = [await newAccount(), await startBrowser()];
    browser.respond = (response) => response.writeHead(429, { "retry-after": "600" }).end();
    await registered(account, browser);
    const rows = await notify(account);
    const [delivery] = await rows();
    expect(delivery).toMatchObject({ state: "queued", attempts: 1, apnsStatus: 429, reason: "TooManyRequests" });
    expect((delivery?.nextAttemptAt.getTime() ?? 0) - clock.now().getTime()).toBeGreaterThan(500_000);
    for (const [status, state] of [
      [403, "failed"],
      [302, "failed"],
      [500, "queued"],
    ] as const) {
      browser.respond = (response) => response.writeHead(status, { location: browser.origin }).end();
      expect(await (await notify(account))()).toMatchObject([{ state, apnsStatus: status }]);
    }
    expect(browser.received).toHaveLength(4);
    expect(await deviceRowsOf(account)).toMatchObject([{ status: "active" }]);
    expect(await ctx().db.pushPause.count()).toBe(0);
  });

  test("that is not of a push service, or whose keys are none, is refused", async () => {
    const [account, { subscription }] = [await newAccount(), await startBrowser()];
    const refused = [
      "https://example.com/push",
      "http://fcm.googleapis.com/push",
      "https://10.0.0.1/push",
      subscription.endpoint.replace("https:", "http:"),
      subscription.endpoint.replace("127.0.0.1", "127.0.0.2"),
      subscription.endpoint.replace("127.0.0.1", "[::ffff:127.0.0.2]"),
      subscription.endpoint.replace("127.0.0.1", "[::1]"),
      subscription.endpoint.replace("127.0.0.1", "localhost"),
      subscription.endpoint.replace("127.0.0.1", "fcm.googleapis.com@127.0.0.1"),
      "https://user:password@fcm.googleapis.com/push",
      "file:///etc/passwd",
      "https://fcm.googleapis.com.example.com/push",
      `https://fcm.googleapis.com/${"x".repeat(2_000)}`,
      "push",
    ].map((endpoint) => ({ ...subscription, endpoint }));
    const { auth, p256dh } = subscription.keys;
    const keys = [
      { auth, p256dh: `${p256dh.slice(0, -4)}AAAA` },
      { auth: "AAAA", p256dh },
      { auth, p256dh: "" },
    ];
    for (const one of [...refused, ...keys.map((each) => ({ ...subscription, keys: each }))]) {
      const response = await register(account, { subscription: one });
      expect([one, response.status]).toEqual([one, 422]);
      expect((await response.json()).errors[0].pointer).toMatch(/^\/subscription\//);
    }
    expect((await post("/api/push/register", { platform: "web", subscription })).status).toBe(401);
  });

  test("in a network that operators allow for their webhooks is refused", async () => {
    const { subscription } = await startBrowser();
    const validate = (settings: Record<string, string>) => {
      const env = { NEXTAUTH_SECRET: SECRET, WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8", ...settings };
      return createWebPush(loadConfig(env), async () => ({ publicKey: "", privateKey: "" })).validateEndpoint(
        new URL(subscription.endpoint),
      );
    };
    expect(validate({})).toBe("Must be the endpoint of a known push service");
    expect(validate({ WEB_PUSH_HOSTS: "*" })).toBe("Must have a public address");
    expect(validate(PUSH_SERVICE_SETTINGS)).toBeNull();
  });

  test("stays while a wrong list of push services fails every notification, which a retry sends once it is right", async () => {
    const [account, browser, operator] = [
      await newAccount(),
      await startBrowser(),
      await newKey({ scopes: ["push:send"] }),
    ];
    const { endpoint } = browser.subscription;
    for (let device = 0; device < 12; device += 1) {
      await registered(account, { subscription: { ...browser.subscription, endpoint: `${endpoint}/${device}` } });
    }
    const config = loadConfig({ NEXTAUTH_SECRET: SECRET, WEB_PUSH_HOSTS: "fmc.googleapis.com" });
    const mistyped = createWebPush(config, () => Promise.reject(new Error("nothing is signed")));
    const rows = await notify(account, HELLO, { webPush: mistyped });
    expect(await rows()).toEqual(
      Array(12).fill(expect.objectContaining({ state: "failed", reason: "EndpointNotAllowed" })),
    );
    expect(await deviceRowsOf(account)).toEqual(Array(12).fill(expect.objectContaining({ status: "active" })));
    expect(await ctx().db.pushPause.count()).toBe(0);
    const ids = (await rows()).map(({ id }) => id);
    expect((await post("/api/admin/push/retries", { ids }, { token: operator.key })).status).toBe(200);
    await deliverDue();
    expect(await rows()).toEqual(Array(12).fill(expect.objectContaining({ state: "sent" })));
    expect(browser.received).toHaveLength(12);
  });

  const MOZILLA = {
    code: 401,
    errno: 109,
    error: "Unauthorized",
    message: "VAPID public key mismatch",
    more_info: "http",
  };
  const GOOGLE =
    "the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.";
  const PAGE =
    "<HTML>\n<HEAD>\n<TITLE>UnauthorizedRegistration</TITLE>\n</HEAD>\n<BODY>\n<H2>Error 400</H2>\n</BODY>\n</HTML>\n";
  test.each<[string, number, string, string]>([
    ["Apple", 403, '{"reason":"BadJwtToken"}', "BadJwtToken"],
    ["Mozilla", 401, JSON.stringify(MOZILLA), "Unauthorized (errno 109): VAPID public key mismatch"],
    ["Google, as text", 403, `${GOOGLE}\n`, GOOGLE],
    ["Google, as a page", 400, PAGE, "UnauthorizedRegistration"],
    [
      "Google, as JSON",
      400,
      '{"error":{"code":400,"message":"Invalid TTL","status":"INVALID_ARGUMENT"}}',
      "INVALID_ARGUMENT: Invalid TTL",
    ],
    ["nobody", 403, "", "Forbidden"],
    [
      "a hostile service",
      403,
      `{"reason":"a\\u001b[2J\\u202eb\\r\\n\\u0000 c${"\ud83d\ude00".repeat(150)}"}`,
      `a [2J b c${"\ud83d\ude00".repeat(150)}`,
    ],
  ])("shows operators the reason that %s gives, and nobody else", async (_, status, body, reason) => {
    const [account, browser] = [await newAccount(), await startBrowser()];
    browser.respond = (response) => response.writeHead(status).end(body);
    await registered(account, browser);
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const rows = await notify(account, HELLO, { log });
    expect(await rows()).toMatchObject([{ state: "failed", apnsStatus: status, reason }]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ state: "failed", apnsStatus: status, reason }]);
    const own = ["/api/push/devices", "/api/auth/account/export"].map(async (path) =>
      (await get(path, { token: account.token })).text(),
    );
    expect((await Promise.all(own)).join()).not.toContain(reason);
  });

  test("counts among the 20 devices of an account", async () => {
    const [account, browser] = [await newAccount(), await startBrowser()];
    await activeDevices(account, 20);
    const response = await register(account, browser);
    expect([response.status, (await response.json()).code]).toEqual([409, "device_limit_reached"]);
  });
});

test("browsers get messages while APNs is not configured, and iOS devices wait", async () => {
  const { account, browser } = await registeredBrowser();
  await activeDevices(account, 1);
  const eventKey = `test:${randomUUID()}`;
  const to = { accountId: account.id };
  await ctx().db.$transaction((tx) => enqueue(tx, ctx().dbNow(), { eventKey, to, message: HELLO }));
  await deliverDue({ push: null });
  expect(browser.received).toHaveLength(1);
  const states = (await deliveriesOf({ eventKey })).map(({ state }) => state);
  expect(states.toSorted()).toEqual(["queued", "sent"]);
});

test.runIf(postgresUrl)("a browser that registers again at this moment is notified, too", async () => {
  const [account, { subscription }] = [await newAccount(), await startBrowser()];
  const register = () => post("/api/push/register", { platform: "web", subscription }, { token: account.token });
  expect((await register()).status).toBe(200);
  const registering = Promise.all(Array.from({ length: 20 }, register));
  const queued: number[] = [];
  for (let event = 0; event < 20; event += 1) {
    const message = { kind: "security.password_changed", eventId: randomUUID() } as const;
    const notification = { eventKey: `test:${randomUUID()}`, to: { accountId: account.id }, message };
    queued.push(await ctx().db.$transaction((tx) => enqueue(tx, ctx().dbNow(), notification)));
  }
  await registering;
  expect(queued).toEqual(Array(20).fill(1));
});
