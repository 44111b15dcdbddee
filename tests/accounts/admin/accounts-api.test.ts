import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { auditPseudonym } from "@/lib/platform/audit/retention";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { newProtectedAccount } from "@/tests/support/auth/authenticator";
import { clock, ctx, emptyTables } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { registeredDevice } from "@/tests/support/push/push";
import { deliverOk, initialPurchase } from "@/tests/support/subscriptions/billing";

const pathOf = ({ id }: { id: string }, rest = "") => `/api/admin/accounts/${id}${rest}`;
const isSignedIn = async ({ token }: TestAccount) => (await get("/api/subscription/status", { token })).status === 200;

async function change(account: { id: string }, verb: string, token: string, json: object = {}, headers = {}) {
  const response = await post(pathOf(account, `/${verb}`), json, { token, headers });
  return { status: response.status, ...((await response.json()) as Record<string, unknown>) };
}

const newestEvent = (accountId: string, type: string) =>
  ctx().db.auditEvent.findFirst({ where: { accountId, type }, orderBy: { id: "desc" } });

async function codeOf(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as { code: string }).code];
}

describe("an operator", () => {
  test("sees an account whole, without anything secret", async () => {
    const { token } = await accountWithRole("support");
    const account = await newProtectedAccount();
    await registeredDevice(account);
    await deliverOk(initialPurchase(account.id));
    const text = await (await get(pathOf(account), { token })).text();
    expect(JSON.parse(text)).toMatchObject({
      id: account.id,
      email: account.email,
      hasPassword: true,
      sessions: [{ id: account.sessionId, transport: "token" }],
      devices: [{ status: "pending" }],
      subscription: { status: "active", isActive: true },
      purchases: [{ status: "active", events: [{ type: "INITIAL_PURCHASE", state: "processed" }] }],
      factors: { totp: { createdAt: expect.any(String) } },
      securityEvents: expect.arrayContaining([expect.objectContaining({ type: "registered", actor: "account" })]),
    });
    const { passwordHash } = await ctx().db.account.findUniqueOrThrow({ where: { id: account.id } });
    const [device] = await ctx().db.pushDevice.findMany({ where: { accountId: account.id } });
    expect(text).not.toContain(passwordHash);
    expect(text).not.toContain(device?.token);
  });

  test("ends all sessions or one, whose devices go too", async () => {
    const { id: operatorId, token } = await accountWithRole("support");
    const account = await newAccount();
    await registeredDevice(account);
    const login = await (await post("/api/auth/login", account)).json();
    const one = await call("DELETE", `${pathOf(account, "/sessions/")}${account.sessionId}?reason=lost+phone`, {
      token,
    });
    expect(await one.json()).toMatchObject({ sessionsEnded: 1, devicesRemoved: 1 });
    expect(await isSignedIn(account)).toBe(false);
    expect(await isSignedIn({ ...account, token: login.token })).toBe(true);
    expect(await newestEvent(account.id, "signed_out")).toMatchObject({
      actor: `account:${operatorId}`,
      network: expect.stringMatching(/\/24$/),
      details: { sessionsEnded: 1, devicesRemoved: 1, reason: "lost phone" },
    });
    expect(await change(account, "revoke-sessions", token)).toMatchObject({ status: 200, sessionsEnded: 1 });
    expect(await change(account, "revoke-sessions", token)).toMatchObject({ isChanged: false, sessionsEnded: 0 });
    const gone = await call("DELETE", `${pathOf(account, "/sessions/")}${account.sessionId}`, { token });
    expect(await codeOf(gone)).toEqual([404, "not_found"]);
    const other = await newAccount();
    const foreign = await call("DELETE", `${pathOf(account, "/sessions/")}${other.sessionId}`, { token });
    expect(await codeOf(foreign)).toEqual([404, "not_found"]);
    expect(await isSignedIn(other)).toBe(true);
  });

  test("disables and enables an account, and the audit trail records who, why and from where", async () => {
    const { id: operatorId, token } = await accountWithRole("admin");
    const account = await newAccount();
    const disabled = await change(account, "disable", token, { reason: " fraud " });
    expect(disabled).toMatchObject({ isChanged: true, sessionsEnded: 1, account: { disabledAt: expect.any(String) } });
    expect((await post("/api/auth/login", account)).status).toBe(403);
    expect(await change(account, "disable", token)).toMatchObject({ status: 200, isChanged: false });
    expect(await change(account, "enable", token)).toMatchObject({ isChanged: true, account: { disabledAt: null } });
    expect((await post("/api/auth/login", account)).status).toBe(200);
    expect(await newestEvent(account.id, "account_disabled")).toMatchObject({
      actor: `account:${operatorId}`,
      network: expect.stringMatching(/\/24$/),
      details: { reason: "fraud" },
    });
  });

  test("unlinks a provider, and gets an error if it is not linked", async () => {
    const { token } = await accountWithRole("admin");
    const account = await newAccount();
    const identity = { accountId: account.id, provider: "github", issuer: "https://github.com", subject: randomUUID() };
    await ctx().db.identity.create({ data: identity });
    expect(await change(account, "unlink", token, { provider: "google" })).toMatchObject({ status: 404 });
    expect(await isSignedIn(account)).toBe(true);
    expect(await change(account, "unlink", token, { provider: "github" })).toMatchObject({ sessionsEnded: 1 });
    expect(await ctx().db.identity.count({ where: { accountId: account.id } })).toBe(0);
    expect(await mailbox.waitFor(account.email)).toContain("was removed");
    expect(await change(account, "unlink", token, { provider: "myspace" })).toMatchObject({ status: 422 });
  });

  test("gives an account a role, which its sessions have at once", async () => {
    const { token } = await accountWithRole("admin");
    const account = await newAccount();
    expect(await codeOf(await get("/api/admin/accounts", { token: account.token }))).toEqual([403, "forbidden"]);
    expect(await change(account, "grant", token, { role: "support" })).toMatchObject({ previousRole: "user" });
    expect((await get("/api/admin/accounts", { token: account.token })).status).toBe(200);
    expect(await change(account, "grant", token, { role: "root" })).toMatchObject({ status: 422 });
  });

  test("deletes an account, whose owner gets an email, and whose events name the operator for a year", async () => {
    const admin = await accountWithRole("admin");
    const account = await newAccount();
    const deleted = await call("DELETE", pathOf(account, "?reason=asked"), { token: admin.token });
    expect(await deleted.json()).toMatchObject({ status: "deleted", email: account.email, subscriptions: [] });
    await mailbox.waitFor(account.email);
    const { events } = await (await get(pathOf(account, "/events"), { token: admin.token })).json();
    expect(events).toMatchObject([
      {
        type: "account_deleted",
        actor: `account:${admin.id}`,
        network: expect.stringMatching(/\/24$/),
        details: { reason: "asked" },
      },
      { type: "registered", network: null },
    ]);
    for (const path of [pathOf(account), pathOf(account, "/export")]) {
      expect((await get(path, { token: admin.token })).status).toBe(404);
    }
    expect((await call("DELETE", pathOf(account), { token: admin.token })).status).toBe(404);
  });

  test("who is deleted is a pseudonym in what they did to others", async () => {
    const admin = await accountWithRole("admin");
    await accountWithRole("admin");
    const account = await newAccount();
    await change(account, "disable", admin.token);
    const { password, token } = admin;
    await post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });
    const actor = `account:${auditPseudonym(ctx().config, admin.id)}`;
    expect(await newestEvent(account.id, "account_disabled")).toMatchObject({ actor });
  });

  test("reads the events of an account page by page, newest first", async () => {
    const { token } = await accountWithRole("support");
    const account = await newAccount();
    const at = new Date(clock.now().getTime() + 1000);
    const events = Array.from({ length: 7 }, () => ({ accountId: account.id, type: "sign_in_failed", at }));
    await ctx().db.auditEvent.createMany({ data: events });
    const types: string[] = [];
    const ids = new Set<string>();
    for (let cursor: string | null = ""; cursor !== null; ) {
      const path: string = pathOf(account, `/events?limit=3${cursor && `&cursor=${cursor}`}`);
      const page = (await (await get(path, { token })).json()) as {
        events: { id: string; type: string }[];
        nextCursor: string | null;
      };
      types.push(...page.events.map(({ type }) => type));
      for (const { id } of page.events) ids.add(id);
      cursor = page.nextCursor;
    }
    expect(types).toEqual([...Array(7).fill("sign_in_failed"), "registered"]);
    expect(ids.size).toBe(8);
    expect((await get(pathOf({ id: randomUUID() }, "/events"), { token })).status).toBe(404);
  });
});

const CHANGES: [method: string, rest: string, json?: object][] = [
  ["POST", "/disable", {}],
  ["POST", "/enable", {}],
  ["POST", "/reset-factors", {}],
  ["POST", "/unlink", { provider: "google" }],
  ["POST", "/grant", { role: "admin" }],
  ["DELETE", ""],
  ["GET", "/export"],
];
const OF_SUPPORT: typeof CHANGES = [
  ["POST", "/revoke-sessions", {}],
  ["DELETE", `/sessions/${randomUUID()}`],
];

describe("access", () => {
  test("to change an account is an admin's, and to read it support's", async () => {
    const account = await newAccount();
    const support = await accountWithRole("support");
    const user = await newAccount();
    const reading = await newKey({ scopes: ["accounts:read"] });
    const [mayRead, mayNot] = [[support.token, reading.key], user.token];
    for (const [method, rest, json] of [...CHANGES, ...OF_SUPPORT]) {
      const send = (token?: string) => call(method, pathOf(account, rest), { json, ...(token ? { token } : {}) });
      expect(await codeOf(await send())).toEqual([401, "unauthenticated"]);
      expect(await codeOf(await send(mayNot))).toEqual([403, "forbidden"]);
      expect(await codeOf(await send(reading.key))).toEqual([403, "forbidden"]);
      if (!OF_SUPPORT.some(([, own]) => own === rest)) {
        expect(await codeOf(await send(support.token))).toEqual([403, "forbidden"]);
      }
    }
    for (const rest of ["", "/events"]) {
      for (const token of mayRead) expect((await get(pathOf(account, rest), { token })).status).toBe(200);
      expect((await get(pathOf(account, rest), { token: mayNot })).status).toBe(403);
      expect((await get(pathOf(account, rest))).status).toBe(401);
    }
    expect(await eventsOf(account.id)).toEqual(["registered"]);
    expect(await isSignedIn(account)).toBe(true);
  });

  test("to change one requires a recent authentication of a person, and accounts:write of a key", async () => {
    const account = await newAccount();
    const admin = await accountWithRole("admin");
    clock.advance(11 * 60_000);
    for (const [method, rest, json] of [...CHANGES, ...OF_SUPPORT]) {
      const refused = await call(method, pathOf(account, rest), { json, token: admin.token });
      expect(await codeOf(refused)).toEqual([403, "reauthentication_required"]);
    }
    const { id, key } = await newKey({ scopes: ["accounts:write"] });
    expect(await change(account, "disable", key, { reason: "fraud" })).toMatchObject({ isChanged: true });
    expect(await newestEvent(account.id, "account_disabled")).toMatchObject({ actor: `key:${id}` });
    expect((await get(pathOf(account), { token: key })).status).toBe(200);
  });

  test("to an account that does not exist responds with 404", async () => {
    const { key: token } = await newKey({ scopes: ["accounts:write"] });
    const id = randomUUID();
    expect((await get(pathOf({ id: "%27" }), { token })).status).toBe(404);
    for (const [method, rest, json] of [...CHANGES, ...OF_SUPPORT, ["GET", ""], ["GET", "/events"]] as typeof CHANGES) {
      expect((await call(method, pathOf({ id }, rest), { json, token })).status).toBe(404);
    }
    expect((await call("HEAD", pathOf({ id: "no-id" }, "/export"), { token })).status).toBe(404);
  });
});

test("a change with an Idempotency-Key is made once", async () => {
  const { key: token } = await newKey({ scopes: ["accounts:write"] });
  const account = await newAccount();
  const headers = { "idempotency-key": randomUUID() };
  const first = await change(account, "disable", token, {}, headers);
  await change(account, "enable", token);
  expect(await change(account, "disable", token, {}, headers)).toEqual(first);
  expect((await post("/api/auth/login", account)).status).toBe(200);
  const other = { ...headers, "idempotency-key": randomUUID() };
  const remove = () => call("DELETE", pathOf(account), { token, headers: other });
  expect(await (await remove()).json()).toEqual(await (await remove()).json());
});

test("what is not valid changes nothing", async () => {
  const { key } = await newKey({ scopes: ["accounts:write"] });
  const account = await newAccount();
  for (const [verb, json] of [
    ["disable", { reason: "" }],
    ["disable", { reason: "x".repeat(501) }],
    ["grant", {}],
    ["unlink", {}],
  ] as const) {
    expect(await change(account, verb, key, json)).toMatchObject({ status: 422, code: "validation_failed" });
  }
  expect(await eventsOf(account.id)).toEqual(["registered"]);
});

describe("the last admin", () => {
  const removals: [string, (account: TestAccount, token: string) => Promise<{ status: number }>][] = [
    ["deleted", async (account, token) => call("DELETE", pathOf(account), { token })],
    ["disabled", (account, token) => change(account, "disable", token)],
    ["demoted", (account, token) => change(account, "grant", token, { role: "support" })],
    [
      "deleted by themselves",
      ({ password, token }) => post("/api/auth/account/delete", { confirm: "DELETE", password }, { token }),
    ],
  ];
  const admins = () => ctx().db.account.count({ where: { role: "admin", disabledAt: null } });

  test.each(removals)("cannot be %s, unless there is another who can sign in", async (_, remove) => {
    await emptyTables();
    const { key } = await newKey({ scopes: ["accounts:write"] });
    const admin = await accountWithRole("admin");
    const disabled = await accountWithRole("admin");
    await change(disabled, "disable", key);
    expect((await remove(admin, key)).status).toBe(409);
    expect(await admins()).toBe(1);
    await change(disabled, "enable", key);
    expect((await remove(admin, key)).status).toBe(200);
    expect(await admins()).toBe(1);
  });

  test("stays if several operators remove all of them at once", async () => {
    const { key } = await newKey({ scopes: ["accounts:write"] });
    await emptyTables();
    const all: TestAccount[] = [];
    for (let i = 0; i < removals.length; i++) all.push(await accountWithRole("admin"));
    const outcomes = await Promise.all(removals.map(([, remove], i) => remove(all[i] as TestAccount, key)));
    expect(outcomes.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409]);
    expect(await admins()).toBe(1);
  });
});
