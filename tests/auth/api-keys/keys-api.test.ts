import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { responders } from "@/app/routes.generated";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import type { Responder } from "@/lib/platform/http/server/routes";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole, newKey, statusOf } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";

type Handlers = Exclude<Responder, string>;

const NEW_KEY = { name: "Release pipeline", scopes: ["releases:write"] };

async function create(token: string, json: object = NEW_KEY, headers: Record<string, string> = {}) {
  const response = await post("/api/admin/keys", json, { token, headers });
  return { ...((await response.json()) as { id?: string; key?: string; code?: string }), status: response.status };
}

describe("/api/admin/keys", () => {
  test("creates a key that is shown once, lists it without the key, and revokes it", async () => {
    const { id: accountId, token } = await accountWithRole("admin");
    const expiresAt = new Date(clock.now().getTime() + 86_400_000).toISOString();
    const networks = ["203.0.113.7", "2001:DB8::/32"];
    const created = await create(token, { ...NEW_KEY, scopes: ["releases:write", "audit:read"], networks, expiresAt });
    expect(created).toMatchObject({
      status: 201,
      scopes: ["audit:read", "releases:write"],
      networks: ["203.0.113.7/32", "2001:db8::/32"],
      expiresAt,
      lastUsedAt: null,
    });
    const text = await (await get("/api/admin/keys", { token })).text();
    expect(text).toContain(created.id);
    expect(text).not.toContain(created.key);
    const revoke = () => call("DELETE", `/api/admin/keys/${created.id}`, { token });
    expect([(await revoke()).status, (await revoke()).status]).toEqual([204, 204]);
    expect(await statusOf(created.id ?? "")).toBe("revoked");
    const events = await ctx().db.auditEvent.findMany({
      where: { accountId, target: { not: null } },
      orderBy: { id: "asc" },
    });
    expect(events).toMatchObject([
      { type: "key_created", actor: "account", target: `key:${created.id}`, network: expect.stringMatching(/\/24$/) },
      { type: "key_revoked", actor: "account", target: `key:${created.id}` },
    ]);
    expect(JSON.stringify(events)).not.toContain(created.key);
  });

  test("is for admins: 401 signed out, 403 for users, support and every key", async () => {
    const keys = [await newKey({ scopes: ["releases:write", "audit:read", "accounts:read"] })];
    const tokens = [
      (await newAccount()).token,
      (await accountWithRole("support")).token,
      ...keys.map(({ key }) => key),
    ];
    for (const token of tokens) {
      expect((await get("/api/admin/keys", { token })).status).toBe(403);
      expect(await create(token)).toMatchObject({ status: 403, code: "forbidden" });
      expect((await call("DELETE", `/api/admin/keys/${keys[0]?.id}`, { token })).status).toBe(403);
    }
    expect((await get("/api/admin/keys")).status).toBe(401);
    expect((await post("/api/admin/keys", NEW_KEY)).status).toBe(401);
    expect(await statusOf(keys[0]?.id ?? "")).toBe("active");
  });

  // ASVS 8.4.2
  test("changes require a recent authentication, and reading does not", async () => {
    const admin = await accountWithRole("admin");
    const { id } = await newKey();
    clock.advance(11 * 60_000);
    expect(await create(admin.token)).toMatchObject({ status: 403, code: "reauthentication_required" });
    expect((await call("DELETE", `/api/admin/keys/${id}`, { token: admin.token })).status).toBe(403);
    expect((await get("/api/admin/keys", { token: admin.token })).status).toBe(200);
    await post("/api/auth/reauthenticate", { password: admin.password }, { token: admin.token });
    expect((await create(admin.token)).status).toBe(201);
  });

  test("requests by cookie must come from our own pages", async () => {
    const admin = await accountWithRole("admin");
    const headers = { origin: "https://evil.example" };
    const login = await post("/api/auth/login", admin, { headers: { "sec-fetch-site": "same-origin" } });
    const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
    expect((await post("/api/admin/keys", NEW_KEY, { cookie, headers })).status).toBe(403);
    expect(
      (await post("/api/admin/keys", NEW_KEY, { cookie, headers: { "sec-fetch-site": "same-origin" } })).status,
    ).toBe(201);
  });

  test.each([
    [{ name: "" }, "/name"],
    [{ name: "x".repeat(81) }, "/name"],
    [{ scopes: [] }, "/scopes"],
    [{ scopes: ["everything"] }, "/scopes/0"],
    [{ scopes: Array(50).fill("releases:read") }, "/scopes"],
    [{ networks: ["203.0.113.0/33"] }, "/networks/0"],
    [{ networks: ["example.com"] }, "/networks/0"],
    [{ networks: ["fe80::1%eth0/64"] }, "/networks/0"],
    [{ expiresAt: "2020-01-01T00:00:00Z" }, "/expiresAt"],
    [{ expiresAt: "tomorrow" }, "/expiresAt"],
  ])("refuses %j and names the field", async (fields, pointer) => {
    const { token } = await accountWithRole("admin");
    const created = await create(token, { ...NEW_KEY, ...fields });
    expect(created).toMatchObject({ status: 422, code: "validation_failed", errors: [{ pointer }] });
  });

  test("revoking an unknown key responds with 404", async () => {
    const { token } = await accountWithRole("admin");
    for (const id of [randomUUID(), "1", "%27"]) {
      expect((await call("DELETE", `/api/admin/keys/${id}`, { token })).status).toBe(404);
    }
  });
});

describe("a list of 1,000 keys", () => {
  test("is read page by page, newest first, each key once", async () => {
    await ctx().db.apiKey.deleteMany();
    const { token } = await accountWithRole("admin");
    const last = await newKey();
    const rest = { name: "old", keyHash: "", prefix: "hp_0000", scopes: ["push:send"], createdAt: clock.now() };
    const data = Array.from({ length: 999 }, (_, i) => ({ ...rest, keyHash: `hash ${i}` }));
    await ctx().db.apiKey.createMany({ data });
    const newest = await newKey();
    const ids: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await (await get(`/api/admin/keys?limit=200${cursor && `&cursor=${cursor}`}`, { token })).json();
      ids.push(...(page as { keys: { id: string }[] }).keys.map(({ id }) => id));
      cursor = (page as { nextCursor: string | null }).nextCursor;
    }
    expect(ids).toHaveLength(1_001);
    expect(ids).toEqual([...new Set(ids)].sort().reverse());
    expect([ids[0], ids.at(-1)]).toEqual([newest.id, last.id]);
  });

  test.each([
    "limit=0",
    "limit=201",
    "limit=x",
    "cursor=bm90aGluZw",
    `cursor=${Buffer.from("releases 1").toString("base64url")}`,
  ])("is not read with %s", async (query) => {
    const { token } = await accountWithRole("admin");
    const response = await get(`/api/admin/keys?${query}`, { token });
    expect([response.status, await response.json()]).toMatchObject([400, { code: "invalid_query" }]);
  });
});

describe("an Idempotency-Key", () => {
  let admin: TestAccount;
  const withKey = (key: string, json: object = NEW_KEY) => create(admin.token, json, { "idempotency-key": key });

  test("creates one API key, and the repetition gets neither a second one nor the first one's text", async () => {
    admin = await accountWithRole("admin");
    const key = randomUUID();
    const first = await withKey(key);
    expect(first.status).toBe(201);
    expect(await withKey(key)).toMatchObject({ status: 409, code: "idempotency_key_used" });
    expect(await withKey(key, { ...NEW_KEY, name: "Another" })).toMatchObject({
      status: 422,
      code: "idempotency_key_reused",
    });
    const rows = await ctx().db.idempotentRequest.findMany();
    expect(JSON.stringify(rows)).not.toContain(first.key);
    expect(JSON.stringify(rows)).not.toContain(key);
  });

  test("of a request that failed can be used again", async () => {
    admin = await accountWithRole("admin");
    const key = randomUUID();
    const past = { ...NEW_KEY, expiresAt: "2020-01-01T00:00:00Z" };
    expect((await withKey(key, past)).status).toBe(422);
    expect((await withKey(key)).status).toBe(201);
  });

  test("of two requests at once makes one change", async () => {
    admin = await accountWithRole("admin");
    const key = randomUUID();
    const statuses = (await Promise.all([withKey(key), withKey(key), withKey(key)])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 409, 409]);
  });

  test("of a process that was killed is free again after a minute, and one of a day ago is forgotten", async () => {
    admin = await accountWithRole("admin");
    const key = randomUUID();
    expect((await withKey(key)).status).toBe(201);
    await ctx().db.idempotentRequest.updateMany({
      data: { status: null, expiresAt: new Date(clock.now().getTime() + 60_000) },
    });
    expect(await withKey(key)).toMatchObject({ status: 409, code: "request_in_progress" });
    clock.advance(61_000);
    expect((await withKey(key)).status).toBe(201);
    clock.advance(25 * 3_600_000);
    await removeExpiredRows(ctx());
    expect(await ctx().db.idempotentRequest.count()).toBe(0);
  });

  test("is that of its caller: another admin's is another request", async () => {
    const key = randomUUID();
    for (let i = 0; i < 2; i++) {
      admin = await accountWithRole("admin");
      expect((await withKey(key)).status).toBe(201);
    }
  });

  test("of a change whose response has no body replays that, too", async () => {
    const { token } = await accountWithRole("admin");
    const url = "https://hooks.example.com/";
    const endpoint = await post("/api/admin/webhooks", { url, eventTypes: ["account.created"] }, { token });
    const headers = { "idempotency-key": randomUUID() };
    const path = `/api/admin/webhooks/${(await endpoint.json()).id}`;
    for (const replayed of [null, "true"]) {
      const response = await call("DELETE", path, { token, headers });
      expect([response.status, await response.text()]).toEqual([204, ""]);
      expect(response.headers.get("idempotency-replayed")).toBe(replayed);
    }
  });

  test("with another query is refused, as with another body", async () => {
    const { id } = await newAccount();
    const { key: token } = await newKey({ scopes: ["accounts:write"] });
    const headers = { "idempotency-key": randomUUID() };
    const remove = (reason: string) => call("DELETE", `/api/admin/accounts/${id}?reason=${reason}`, { token, headers });
    expect((await remove("one")).status).toBe(200);
    const other = await remove("two");
    expect([other.status, (await other.json()).code]).toEqual([422, "idempotency_key_reused"]);
  });

  test("is declared by every change of the admin API but uploads, which can be resumed", () => {
    const isChange = (method: string, path: string) =>
      !["GET", "HEAD", "OPTIONS"].includes(method) && path.startsWith("/api/admin/") && !isRead(path);
    const isRead = (path: string) => /^\/api\/admin\/(uploads|releases\/(previews|verifications))(\/|$)/.test(path);
    const missing = Object.entries(responders).flatMap(([path, responder]) => {
      const handlers: Handlers = typeof responder === "object" ? responder : {};
      return Object.entries(handlers).flatMap(([method, { endpoint }]) =>
        endpoint && isChange(method, path) && !endpoint.idempotency ? [`${method} ${path}`] : [],
      );
    });
    expect(missing).toEqual([]);
  });

  test.each(["", "two words", "x".repeat(256)])("%j is not valid", async (key) => {
    admin = await accountWithRole("admin");
    expect(await withKey(key)).toMatchObject({ status: 400, code: "invalid_idempotency_key" });
  });
});
