import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { insertDevices, newToken } from "@/tests/support/push/push";
import { contentLength } from "@/tests/support/server";
import { anonymous, billingEvent, deliverOk } from "@/tests/support/subscriptions/billing";

const EXPORT = "/api/auth/account/export";

// ASVS 8.2.2, 14.2.6
test("an account with 20 devices and 1,000 events is exported completely, without other accounts' data", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const tokens = Array.from({ length: 20 }, () => newToken());
  await insertDevices(ann, tokens);
  await insertDevices(bob, [newToken()]);
  const at = ctx().now();
  await ctx().db.auditEvent.createMany({
    data: Array.from({ length: 700 }, () => ({ accountId: ann.id, type: "sign_in_failed", at })),
  });
  const purchase = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id });
  await deliverOk(purchase);
  const { id, facts, ...first } = await ctx().db.billingEvent.findFirstOrThrow({ where: { eventId: purchase.id } });
  await ctx().db.billingEvent.createMany({
    data: Array.from({ length: 299 }, (_, i) => ({
      ...first,
      facts: facts ?? {},
      payload: { note: "ü".repeat(500) },
      eventId: `${purchase.id}-${i}`,
    })),
  });
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: bob.id }));

  const response = await get(EXPORT, { token: ann.token });
  const text = await response.text();
  const data = JSON.parse(text);
  expect(data.devices).toHaveLength(20);
  expect(data.billingEvents).toHaveLength(300);
  expect(data.securityEvents).toHaveLength(702); // "registered" first and "exported" last
  expect(data.securityEvents.at(-1)).toMatchObject({ type: "exported" });
  expect(data.subscriptions).toHaveLength(1);
  expect(data.sessions).toMatchObject([{ id: ann.sessionId, transport: "token" }]);
  const { passwordHash } = await ctx().db.account.findUniqueOrThrow({ where: { id: ann.id } });
  for (const secret of [ann.token, passwordHash ?? "", "$2b$", ...tokens]) expect(text).not.toContain(secret);
  for (const other of [bob.id, bob.email]) expect(text).not.toContain(other);
});

test("an exported transfer omits the other side's app user ids, and an exported alias is never another account's id", async () => {
  const [ann, bob, carl, dora] = [await newAccount(), await newAccount(), await newAccount(), randomUUID()];
  const device = anonymous();
  const transfer = (from: string[], to: string[]) =>
    billingEvent("TRANSFER", { app_user_id: null, aliases: [], transferred_from: from, transferred_to: to });
  const [received, passedOn] = [
    transfer([ann.id.toUpperCase(), device, "ann-17"], [bob.id]),
    transfer([bob.id], [dora]),
  ];
  clock.advance(1000); // purchases after this are not transferred
  const bought = billingEvent("RENEWAL", { app_user_id: bob.id, aliases: [carl.id.toUpperCase(), "bob-17"] });
  for (const event of [received, passedOn, bought]) expect(await deliverOk(event)).toBe("processed");

  const text = await (await get(EXPORT, { token: bob.token })).text();
  for (const other of [ann.id, carl.id, dora, device, "ann-17", "deleted:"]) {
    expect(text.toLowerCase()).not.toContain(other.toLowerCase());
  }
  const { billingEvents, subscriptions } = JSON.parse(text);
  expect(billingEvents).toHaveLength(3);
  const byId = (id: string) => billingEvents.find(({ eventId }: { eventId: string }) => eventId === id);
  expect(byId(received.id)).toMatchObject({
    identities: [bob.id],
    transferredFrom: [],
    appUserId: bob.id,
    payload: { event: { id: received.id, type: "TRANSFER", transferred_from: [], transferred_to: [bob.id] } },
  });
  expect(byId(passedOn.id)).toMatchObject({
    identities: [bob.id],
    transferredFrom: [bob.id],
    appUserId: null,
    payload: { event: { transferred_from: [bob.id], transferred_to: [] } },
  });
  expect(byId(bought.id)).toMatchObject({ payload: { event: { app_user_id: bob.id, aliases: ["bob-17"] } } });
  expect(subscriptions).toMatchObject([{ identities: expect.arrayContaining([bob.id, "bob-17"]) }]);
});

test("the export is a snapshot: it contains a concurrent transaction completely or not at all", async () => {
  const { id, token } = await newAccount();
  let isDone = false;
  // Each transaction increases both the number in the name and the number of events.
  const writer = (async () => {
    for (let n = 1; !isDone; n++) {
      await ctx().db.$transaction(async (tx) => {
        await tx.account.update({ where: { id }, data: { name: `after ${n} events` } });
        await tx.auditEvent.create({ data: { accountId: id, type: "signed_out", at: ctx().now() } });
      });
      await nextTurn(); // PGlite responds within one turn, so sockets would never be served
    }
  })();
  try {
    for (let i = 0; i < 5; i++) {
      const { account, securityEvents } = await (await get(EXPORT, { token })).json();
      const events = securityEvents.filter(({ type }: { type: string }) => type === "signed_out");
      expect(account.name ?? "after 0 events").toBe(`after ${events.length} events`);
    }
  } finally {
    isDone = true;
    await writer;
  }
});

test("HEAD returns the export's headers without counting or recording an export", async () => {
  const { id, token } = await newAccount();
  for (let i = 0; i < 6; i++) {
    const head = await call("HEAD", EXPORT, { token });
    expect(head.status).toBe(200);
    expect(head.headers.get("content-type")).toBe("application/json");
    expect(head.headers.get("content-disposition")).toMatch(/^attachment; filename="account-export-[\d-]{10}\.json"$/);
    expect(await head.text()).toBe("");
  }
  expect((await call("HEAD", EXPORT)).status).toBe(401);
  const whole = await get(EXPORT, { token });
  expect(whole.status).toBe(200);
  expect(whole.headers.get("content-length")).toBe(contentLength((await whole.arrayBuffer()).byteLength));
  expect(await ctx().db.auditEvent.count({ where: { accountId: id, type: "exported" } })).toBe(1);
});

test("the export contains a failed sign-in with its network and client", async () => {
  const { email, token } = await newAccount();
  const client = { ip: "203.0.113.55", headers: { "user-agent": "Homeport/1.0 (test)" } };
  await post("/api/auth/login", { email, password: "a wrong one" }, client);
  const { securityEvents } = await (await get(EXPORT, { token })).json();
  expect(securityEvents[1]).toEqual({
    type: "sign_in_failed",
    at: expect.stringMatching(/Z$/),
    actor: "account",
    address: "203.0.113.0/24",
    client: "Homeport/1.0 (test)",
    details: null,
  });
});

test("the export says what an operator did, and neither who nor why", async () => {
  const [operator, account] = [await accountWithRole("admin"), await newAccount()];
  const { token } = await (await post("/api/auth/login", account)).json();
  const path = `/api/admin/accounts/${account.id}`;
  await call("DELETE", `${path}/sessions/${account.sessionId}?reason=rude`, { token: operator.token });
  await get(`${path}/export?reason=rude`, { token: operator.token });
  const own = await get(EXPORT, { token });
  const byOperator = await get(`${path}/export`, { token: operator.token });
  for (const response of [own, byOperator]) {
    const { securityEvents } = await response.json();
    const of = (type: string) => securityEvents.find((event: { type: string }) => event.type === type);
    const what = { actor: "operator", address: null, client: null };
    expect(of("signed_out")).toMatchObject({ ...what, details: { sessionsEnded: 1, devicesRemoved: 0 } });
    expect(of("exported")).toMatchObject({ ...what, details: null });
    for (const hidden of ["rude", operator.id]) expect(JSON.stringify(securityEvents)).not.toContain(hidden);
  }
});

test("the session cookie gets an export from the service's own page, the address bar and a trusted origin", async () => {
  const { token } = await newAccount();
  const cookie = `next-auth.session-token=${token}`;
  const own: Record<string, string>[] = [
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
    { referer: `${BASE_URL}/account` }, // an older browser
    { "sec-fetch-site": "same-site", origin: "https://app.example" },
  ];
  await withContext({ config: { AUTH_TRUSTED_ORIGINS: ["https://app.example"] } }, async () => {
    for (const headers of own) expect((await get(EXPORT, { cookie, headers })).status).toBe(200);
  });
});

// ASVS 2.3.2, 3.5.3
test("the session cookie gets no export from another site, and none is counted: five a day are possible", async () => {
  const { id, token } = await newAccount();
  const foreign: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site", referer: "https://evil.example/" },
    { "sec-fetch-site": "same-site", origin: "https://other.example" },
    { referer: "https://evil.example/" }, // an older browser
    {},
  ];
  for (const headers of foreign) {
    const response = await get(EXPORT, { cookie: `next-auth.session-token=${token}`, headers });
    expect([response.status, await response.json()]).toMatchObject([403, { code: "origin_not_allowed" }]);
  }
  expect(await ctx().db.auditEvent.count({ where: { accountId: id, type: "exported" } })).toBe(0);
  for (let i = 0; i < 5; i++) expect((await get(EXPORT, { token })).status).toBe(200);
  expect((await get(EXPORT, { token })).status).toBe(429);
});
