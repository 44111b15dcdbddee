import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { composeContext } from "@/lib/compose";
import { type Config, loadConfig } from "@/lib/platform/config";
import { newAccount } from "@/tests/support/accounts";
import { answerOf, call, get, post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { BASE_URL, clock, ctx, failingDatabase, useUp, withContext } from "@/tests/support/context";
import { copyEmbeddedDatabase } from "@/tests/support/database";
import { leaveUnfinished } from "@/tests/support/idempotency";
import { callsHandlers, contentLength } from "@/tests/support/server";

const LOGIN = "/api/auth/login";

const JSON_TYPE = { "content-type": "application/json" };

describe("every response", () => {
  test("has a request id: the client's if it is well-formed, else a new one", async () => {
    const own = await get("/api/health", { headers: { "x-request-id": "abc.DEF-1_2" } });
    expect(own.headers.get("x-request-id")).toBe("abc.DEF-1_2");
    for (const bad of ["has space", "a".repeat(129), "<script>"]) {
      const response = await get("/api/health", { headers: { "x-request-id": bad } });
      expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  // ASVS 14.2.2, 14.3.2
  test("has nosniff, and is not cached unless the route declares it", async () => {
    const response = await post(LOGIN, {});
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("cache-control")).toBe("private, no-store");
  });
});

describe("errors", () => {
  test("are problem documents with a stable code", async () => {
    const response = await call("POST", LOGIN, { body: "{", headers: JSON_TYPE });
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toEqual({
      type: `${BASE_URL}/docs/errors#malformed_json`,
      title: "The body is not valid JSON",
      status: 400,
      code: "malformed_json",
      requestId: response.headers.get("x-request-id"),
    });
  });

  // ASVS 13.4.2, 16.5.1
  test("that are unexpected are a 500 without details", async () => {
    const db = failingDatabase(new Error("secret: postgres://user:password@host"));
    const response = await withContext({ db }, () => post(LOGIN, { email: "a@example.com", password: "whatever" }));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
  });
});

describe("methods", () => {
  // ASVS 3.5.3, 4.1.4
  test("that a route does not declare get 405 with Allow", async () => {
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
      const response = await call(method, LOGIN);
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST, OPTIONS");
    }
  });

  test("are listed by OPTIONS", async () => {
    const response = await call("OPTIONS", "/api/version");
    expect(response.status).toBe(204);
    expect(response.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });

  test("HEAD responds as GET does, without a body", async () => {
    for (const path of ["/api/health", "/api/version", "/api/auth/csrf", "/api/version?platform=windows"]) {
      const [byGet, byHead] = [await get(path), await call("HEAD", path)];
      expect(byHead.status).toBe(byGet.status);
      expect(byHead.headers.get("content-type")).toBe(byGet.headers.get("content-type"));
      expect(byHead.headers.get("content-length")).toBe(contentLength((await byGet.arrayBuffer()).byteLength));
      expect(await byHead.text()).toBe("");
    }
  });
});

test("an unknown path under /api is a problem document", async () => {
  for (const path of ["/api/nothing", "/api/subscription/nothing/here", "/api"]) {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      expect(await answerOf(await call(method, path))).toMatchObject({ status: 404, body: { code: "not_found" } });
    }
  }
});

describe("a session", () => {
  test("is a bearer token, with a case-insensitive scheme", async () => {
    const { token } = await newAccount();
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      expect((await get("/api/push/devices", { headers: { authorization: `${scheme} ${token}` } })).status).toBe(200);
    }
  });

  test("in a cookie is ignored beside an Authorization header", async () => {
    const { token } = await newAccount();
    const cookie = `next-auth.session-token=${token}`;
    expect((await get("/api/push/devices", { cookie })).status).toBe(200);
    expect((await get("/api/push/devices", { cookie, headers: { authorization: "Basic eDp5" } })).status).toBe(401);
  });
});

// ASVS 3.4.2
test("requests get no CORS headers unless their origin is listed", async () => {
  const headers = { origin: "https://app.example" };
  expect((await get("/api/health", { headers })).headers.get("access-control-allow-origin")).toBeNull();
  await withContext({ config: { CORS_ALLOWED_ORIGINS: ["https://app.example"] } }, async () => {
    const listed = await get("/api/health", { headers });
    expect(listed.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(listed.headers.get("access-control-allow-credentials")).toBe("true");
    const preflight = await call("OPTIONS", LOGIN, {
      headers: { ...headers, "access-control-request-method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-methods")).toBe("POST, OPTIONS");
    expect(preflight.headers.get("access-control-allow-headers")).toMatch(/\bIdempotency-Key, If-Match\b/);
    const other = await get("/api/health", { headers: { origin: "https://evil.example" } });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
    expect(other.headers.get("vary")).toMatch(/(^|, )Origin$/);
  });
});

describe("the client's IP address", () => {
  const attempt = (ip: string, forwarded?: string) =>
    post(
      LOGIN,
      { email: `${crypto.randomUUID()}@example.com`, password: "whatever" },
      { ip, headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } },
    );

  test.runIf(callsHandlers)("is the socket's, IPv6 by its /64, whatever X-Forwarded-For contains", async () => {
    await useUp("loginByIp", "2001:db8:1:2::/64", 60);
    expect((await attempt("2001:db8:1:2:aaaa::1")).status).toBe(429);
    expect((await attempt("2001:db8:1:2::bbbb", "198.51.100.9")).status).toBe(429);
    expect((await attempt("2001:db8:1:3::1")).status).toBe(401);
  });

  test("is the one that the outermost trusted proxy added, with proxies", async () => {
    await useUp("loginByIp", "198.51.100.33", 60);
    await withContext({ config: { TRUSTED_PROXY_HOPS: 1 } }, async () => {
      expect((await attempt("127.0.0.1", "8.8.8.8, 198.51.100.33")).status).toBe(429);
      expect((await attempt("127.0.0.1", "198.51.100.33, 198.51.100.34")).status).toBe(401);
    });
  });
});

test("an account that is deleted during a request has no session", async () => {
  const gone = Object.assign(new Error("Foreign key constraint violated"), { code: "P2003" });
  const { token } = await newAccount();
  expect((await withContext({ db: failingDatabase(gone) }, () => get("/api/push/devices", { token }))).status).toBe(
    401,
  );
});

const NEW_KEY = { name: "Release pipeline", scopes: ["releases:write"] };

/** A change that an admin makes with an Idempotency-Key, as often as it is sent. */
async function newChange() {
  const { token } = await accountWithRole("admin");
  const headers = { "idempotency-key": randomUUID() };
  return () => post("/api/admin/keys", NEW_KEY, { token, headers });
}

test("a request that another process may still work on is refused until it can be repeated, and forgotten after a day", async () => {
  const send = await newChange();
  expect((await send()).status).toBe(201);
  await leaveUnfinished();
  const refused = await send();
  const seconds = Number(refused.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(1);
  expect(seconds).toBeLessThanOrEqual(40);
  const detail = expect.stringContaining(`in ${seconds} s`);
  expect(await refused.json()).toMatchObject({ status: 409, code: "request_in_progress", detail });
  clock.advance(seconds * 1000);
  expect((await send()).status).toBe(201);
  clock.advance(25 * 3_600_000);
  await removeExpiredRows(ctx());
  expect(await ctx().db.idempotentRequest.count()).toBe(0);
});

/** The service on an embedded database of its own, from a start to its stop. */
async function withService<T>(config: Config, run: () => Promise<T>): Promise<T> {
  const context = await composeContext(config, { log: pino({ level: "silent" }) });
  return withContext(context, run).finally(context.close);
}

test("a start on the embedded database, which nobody else has open, frees the keys of the process before it", async () => {
  const config = loadConfig({
    DATA_DIR: await mkdtemp(path.join(tmpdir(), "homeport-test-")),
    RELEASE_ADOPTION: "off",
  });
  await copyEmbeddedDatabase(config.DATA_DIR);
  const send = await withService(config, async () => {
    const change = await newChange();
    expect((await change()).status).toBe(201);
    await leaveUnfinished();
    expect((await change()).status).toBe(409);
    return change;
  });
  await withService(config, async () => {
    expect((await send()).status).toBe(201);
    expect((await (await send()).json()).code).toBe("idempotency_key_used");
  });
});
