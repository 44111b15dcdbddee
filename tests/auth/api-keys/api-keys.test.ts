import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { declare } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { newKey, statusOf } from "@/tests/support/auth/api-keys";
import { BASE_URL, clock, ctx } from "@/tests/support/context";
import { callsHandlers } from "@/tests/support/server";

/** A route for keys that may read releases, and for support. */
const route = defineRoute("/api/guarded", {
  GET: declare({
    summary: "Guarded",
    role: "support",
    scope: "releases:read",
    response: { schema: z.object({ name: z.string() }) },
    run: ({ principal }) => {
      if ("operator" in principal) return { name: principal.operator };
      if ("publisher" in principal) return { name: principal.publisher.name };
      return { name: "key" in principal ? principal.key.name : principal.account.email };
    },
  }),
});

type Options = { ip?: string; query?: string };

async function call(token: string, { ip = "198.51.100.7", query = "" }: Options = {}) {
  // Behind the HTTP server, the tests trust a proxy.
  const headers = { authorization: `Bearer ${token}`, ...(callsHandlers ? {} : { "x-forwarded-for": ip }) };
  const response = await route.GET(new Request(`${BASE_URL}/api/guarded${query}`, { headers }), { socketIp: ip });
  const body = (await response.json()) as { name?: string; code?: string; detail?: string };
  return { ...body, status: response.status, challenge: response.headers.get("www-authenticate") };
}

const eventsOfKey = async (id: string) =>
  (await ctx().db.auditEvent.findMany({ where: { target: `key:${id}` }, orderBy: { id: "asc" } })).map(
    ({ type, actor }) => [type, actor],
  );

describe("an API key", () => {
  test("authenticates a program, and is stored as a hash alone", async () => {
    const { id, key } = await newKey();
    expect(await call(key)).toMatchObject({ status: 200, name: "CI" });
    const row = await ctx().db.apiKey.findUniqueOrThrow({ where: { id } });
    expect(row.keyHash).toBe(createHash("sha256").update(key).digest("hex"));
    expect(JSON.stringify(row)).not.toContain(key);
  });

  test("is hp_, 43 random letters and digits, and their CRC-32 in base 62, which scanners can check", async () => {
    const { key } = await newKey();
    const [, secret = "", checksum = ""] = /^hp_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(key) ?? [];
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    expect([...checksum].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)).toBe(crc32(secret));
  });

  test("that is unknown, mistyped, revoked or expired responds with 401 and a challenge", async () => {
    const [revoked, expiring] = [await newKey(), await newKey({ expiresAt: new Date(clock.now().getTime() + 60_000) })];
    await ctx().db.apiKey.update({ where: { id: revoked.id }, data: { revokedAt: clock.now() } });
    expect((await call(expiring.key)).status).toBe(200);
    clock.advance(60_000);
    const deleted = await newKey();
    await ctx().db.apiKey.delete({ where: { id: deleted.id } });
    for (const text of [revoked.key, expiring.key, deleted.key, `${deleted.key}x`, "hp_", "hp_short"]) {
      expect(await call(text)).toMatchObject({
        status: 401,
        code: "unauthenticated",
        challenge: 'Bearer realm="homeport", error="invalid_token"',
      });
    }
  });

  // ASVS 8.4.2
  test("without the scope responds with 403, and a scope to write includes reading the same", async () => {
    const [other, reader] = [await newKey({ scopes: ["billing:read", "push:send"] }), await newKey()];
    expect(await call(other.key)).toMatchObject({
      status: 403,
      code: "forbidden",
      challenge: 'Bearer realm="homeport", error="insufficient_scope", scope="releases:read"',
    });
    expect((await call(reader.key)).status).toBe(200);
    expect((await call((await newAccount()).token)).code).toBe("forbidden");
  });

  // ASVS 8.4.2
  test("is refused from other networks than its own, IPv4 and IPv6", async () => {
    const { key } = await newKey({ networks: ["203.0.113.0/24", "2001:db8:1::/48", "192.0.2.7/32"] });
    for (const ip of ["203.0.113.200", "::ffff:203.0.113.1", "2001:db8:1:2::3", "192.0.2.7"]) {
      expect([ip, (await call(key, { ip })).status]).toEqual([ip, 200]);
    }
    for (const ip of ["203.0.114.1", "2001:db8:2::1", "192.0.2.8", "unknown"]) {
      expect([ip, await call(key, { ip })]).toMatchObject([ip, { status: 403, code: "forbidden" }]);
    }
  });

  test("is no session: routes of accounts do not accept it", async () => {
    const { key } = await newKey();
    expect((await get("/api/push/devices", { token: key })).status).toBe(401);
    expect(await (await get("/api/auth/session", { token: key })).json()).toEqual({});
  });

  test("has its last use stored once an hour", async () => {
    const { id, key } = await newKey();
    const lastUse = async () => (await ctx().db.apiKey.findUniqueOrThrow({ where: { id } })).lastUsedAt?.getTime();
    await call(key);
    await expect.poll(lastUse).toBeDefined();
    const first = await lastUse();
    clock.advance(59 * 60_000);
    await call(key);
    clock.advance(2 * 60_000);
    expect(await lastUse()).toBe(first);
    await call(key);
    await expect.poll(lastUse).toBeGreaterThan(first ?? 0);
  });

  // ASVS 14.2.1
  test("in a URL is refused and revoked, whatever the parameter and the route, and the audit trail says so", async () => {
    for (const query of ["?key=KEY", "?platform=windows&x=KEY", "?access_token=KEY&a=1"]) {
      const [sent, leaked] = [await newKey(), await newKey()];
      const refused = await call(sent.key, { query: query.replace("KEY", leaked.key) });
      expect(refused).toMatchObject({ status: 400, code: "key_in_url" });
      expect((await call(leaked.key)).status).toBe(401);
      expect((await call(sent.key)).status).toBe(200);
      expect(await eventsOfKey(leaked.id)).toEqual([
        ["key_created", "operator"],
        ["key_leaked", `key:${leaked.id}`],
      ]);
    }
    const { GET } = await import("@/app/api/version/route");
    const percent = (key: string) => key.replaceAll(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`);
    const written: ((key: string) => string)[] = [
      (key) => `version?key=${key}`,
      (key) => `version/${key}`,
      (key) => `version?key=${key.replace("_", "%5f")}`,
      (key) => `version?key=${key.replace("_", "%255F")}`,
      (key) => `version/${key.replace("_", "%25255f")}`,
      (key) => `version?key=${percent(key)}`,
      (key) => `version?key=${encodeURIComponent(percent(key))}`,
      (key) => `version?key=${key.replace("_", percent("%5f"))}`,
      (key) => `version?key=${key}%2541`,
    ];
    for (const write of written) {
      const { id, key } = await newKey();
      const response = await GET(new Request(`${BASE_URL}/api/${write(key)}`), {});
      expect([write("KEY_"), response.status]).toEqual([write("KEY_"), 400]);
      expect(await statusOf(id)).toBe("revoked");
    }
  });

  test("is looked for in linear time in a URL that is encoded thousands of times", async () => {
    const { GET } = await import("@/app/api/version/route");
    const { id, key } = await newKey();
    const deep = (text: string) => `${BASE_URL}/api/version?x=${"%25".repeat(5_000)}${"25".repeat(5_000)}5F${text}`;
    expect((await GET(new Request(deep("")), {})).status).toBe(200);
    expect((await GET(new Request(deep(key)), {})).status).toBe(400);
    expect(await statusOf(id)).toBe("revoked");
  });

  test("with a wrong checksum in a query is no key: the request is served", async () => {
    const { key } = await newKey();
    const typo = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`;
    expect((await call(key, { query: `?key=${typo}` })).status).toBe(200);
  });

  test("that is guessed is refused with 429 after 60 attempts, while right keys from there still work", async () => {
    const [ip, { key }] = ["198.51.100.250", await newKey()];
    const statuses = [];
    for (let i = 0; i < 61; i++) statuses.push((await call(`hp_guess${i}`, { ip })).status);
    expect([...new Set(statuses.slice(0, 60)), statuses.at(-1)]).toEqual([401, 429]);
    expect((await call(key, { ip })).status).toBe(200);
  });
});
