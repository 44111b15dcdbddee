import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { responders } from "@/app/routes.generated";
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
    expect((await call("DELETE", `/api/admin/keys/${randomUUID()}`, { token })).status).toBe(404);
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
    const { id, key } = await newKey({ scopes: ["releases:write", "audit:read", "accounts:read"] });
    for (const token of [(await newAccount()).token, (await accountWithRole("support")).token, key]) {
      expect((await get("/api/admin/keys", { token })).status).toBe(403);
      expect(await create(token)).toMatchObject({ status: 403, code: "forbidden" });
      expect((await call("DELETE", `/api/admin/keys/${id}`, { token })).status).toBe(403);
    }
    expect((await get("/api/admin/keys")).status).toBe(401);
    expect((await post("/api/admin/keys", NEW_KEY)).status).toBe(401);
    expect(await statusOf(id)).toBe("active");
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

  test.each([
    [{ name: "" }, "/name"],
    [{ name: "x".repeat(81) }, "/name"],
    [{ scopes: [] }, "/scopes"],
    [{ scopes: ["everything"] }, "/scopes/0"],
    [{ scopes: Array(50).fill("releases:read") }, "/scopes"],
    [{ products: ["Core"] }, "/products/0"],
    [{ products: Array(51).fill("core") }, "/products"],
    [{ products: ["core"], scopes: ["releases:write", "audit:read"] }, "/scopes"],
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
});

test("the list of keys is read page by page, newest first, each key once", async () => {
  await ctx().db.apiKey.deleteMany();
  const { token } = await accountWithRole("admin");
  const created: string[] = [];
  for (let i = 0; i < 5; i++) created.push((await newKey()).id);
  const ids: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = await (await get(`/api/admin/keys?limit=2${cursor && `&cursor=${cursor}`}`, { token })).json();
    ids.push(...(page as { keys: { id: string }[] }).keys.map(({ id }) => id));
    cursor = (page as { nextCursor: string | null }).nextCursor;
  }
  expect(ids).toEqual(created.reverse());
  expect((await get("/api/admin/keys?limit=201", { token })).status).toBe(400);
});

describe("an Idempotency-Key", () => {
  let admin: TestAccount;
  beforeEach(async () => {
    admin = await accountWithRole("admin");
  });
  const withKey = (key: string, json: object = NEW_KEY) => create(admin.token, json, { "idempotency-key": key });

  test("creates one API key, and the repetition gets neither a second one nor the first one's text", async () => {
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

  test("of two requests at once makes one change", async () => {
    const key = randomUUID();
    const statuses = (await Promise.all([withKey(key), withKey(key), withKey(key)])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 409, 409]);
  });

  test("is that of its caller: another admin's is another request", async () => {
    const key = randomUUID();
    expect((await withKey(key)).status).toBe(201);
    admin = await accountWithRole("admin");
    expect((await withKey(key)).status).toBe(201);
  });

  test("of a change whose response has no body replays that, too", async () => {
    const { token } = admin;
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
    expect(await withKey(key)).toMatchObject({ status: 400, code: "invalid_idempotency_key" });
  });
});
