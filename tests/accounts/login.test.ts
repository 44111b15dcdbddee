import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { BASE_URL, ctx, useUp, withContext } from "@/tests/support/context";

const BROWSER = { origin: BASE_URL, "sec-fetch-site": "same-origin" };
const UNKNOWN = { email: "nobody@example.com", password: "no password at all" };

test("the right password signs in, and the letter case of the email does not matter", async () => {
  const { email, password, id } = await newAccount();
  const response = await post("/api/auth/login", {
    email: ` ${email.toUpperCase()} `,
    password,
    deviceName: "Ann's Mac",
  });
  expect(response.status).toBe(200);
  const body = await response.json();
  expect(body).toMatchObject({ user: { id, email }, session: { transport: "token" }, tokenType: "Bearer" });
  expect(response.headers.get("set-cookie")).toBeNull();
  expect((await ctx().db.session.findUniqueOrThrow({ where: { id: body.session.id } })).deviceName).toBe("Ann's Mac");
});

// ASVS 3.3.4, 10.1.1
test("a browser gets a cookie and no token in the body", async () => {
  const { email, password } = await newAccount();
  const response = await post("/api/auth/login", { email, password }, { headers: BROWSER });
  expect(response.status).toBe(200);
  const body = await response.json();
  expect(body.session.transport).toBe("cookie");
  expect(body.token).toBeUndefined();
  const [cookie = "", device] = response.headers.getSetCookie();
  expect(device).toMatch(/^homeport\.device=[\w-]{22}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
  expect(cookie).toMatch(/^next-auth\.session-token=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
  expect((await get("/api/push/devices", { cookie: cookie.split(";", 1)[0] })).status).toBe(200);
});

// ASVS 7.2.4
test("a new session cookie ends the session of the cookie that it replaces, of any account; a bearer token ends none", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const cookieFor = async (path: string, json: object, cookie?: string) => {
    const response = await post(path, json, { headers: BROWSER, cookie });
    return (response.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  };
  const isValid = async (cookie: string) => (await get("/api/push/devices", { cookie })).status === 200;
  const first = await cookieFor("/api/auth/login", ann);
  expect((await post("/api/auth/login", ann, { cookie: first })).status).toBe(200);
  expect(await cookieFor("/api/auth/login", { ...ann, password: "a wrong one" }, first)).toBe("");
  expect(await isValid(first)).toBe(true);
  const second = await cookieFor("/api/auth/login", bob, first);
  expect([await isValid(first), await isValid(second)]).toEqual([false, true]);
  const newcomer = { email: `new-${crypto.randomUUID()}@example.com`, password: "a good long password" };
  const third = await cookieFor("/api/auth/register", newcomer, second);
  expect([await isValid(second), await isValid(third)]).toEqual([false, true]);
});

test("a request from another site gets no session cookie", async () => {
  const { email, password } = await newAccount();
  const origins: Record<string, string>[] = [
    { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
    { origin: "null" },
    { origin: `${BASE_URL}.evil.example` },
  ];
  for (const headers of origins) {
    const response = await post("/api/auth/login", { email, password }, { headers });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: "origin_not_allowed" });
    expect(response.headers.get("set-cookie")).toBeNull();
  }
});

describe("a wrong password, an unknown email and an account without a password", () => {
  test("get the same response", async () => {
    const { email } = await newAccount();
    const linked = await ctx().db.account.create({ data: { email: `linked-${crypto.randomUUID()}@example.com` } });
    const problems = [];
    for (const wrong of [
      { email, password: "wrong password" },
      UNKNOWN,
      { email: linked.email, password: "any password" },
    ]) {
      const response = await post("/api/auth/login", wrong);
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).not.toBeNull();
      const { requestId, ...rest } = await response.json();
      expect(requestId).toBe(response.headers.get("x-request-id"));
      problems.push(rest);
    }
    expect(problems[0]).toMatchObject({ code: "invalid_credentials" });
    expect(problems[1]).toEqual(problems[0]);
    expect(problems[2]).toEqual(problems[0]);
  });

  test("run the same statements, whose durations would otherwise reveal which emails have an account", async () => {
    const { email } = await newAccount();
    const statementsOf = async (tried: string) => {
      const statements: unknown[] = [];
      const recording = ctx().db.$extends({
        query: {
          $allOperations: ({ model, operation, args, query }) => {
            statements.push([model, operation, (args as { strings?: unknown }).strings]);
            return query(args);
          },
        },
      }) as unknown as ReturnType<typeof ctx>["db"];
      const wrong = { email: tried, password: "wrong password" };
      const attempt = () => post("/api/auth/login", wrong, { ip: "203.0.113.11" });
      for (let i = 0; i < 11; i++) await withContext({ db: recording }, attempt); // the last ones have to wait
      return statements;
    };
    const known = await statementsOf(email);
    expect(known.length).toBeGreaterThan(20);
    expect(await statementsOf(UNKNOWN.email)).toEqual(known);
  });

  test("write the same: a statement without a row need not wait for the disk", async () => {
    const { id, email } = await newAccount();
    const since = ctx().now();
    const eventsOf = (accountId: string | null) =>
      ctx().db.auditEvent.count({ where: { accountId, type: "sign_in_failed", at: { gte: since } } });
    const unknownBefore = await eventsOf(null);
    for (const tried of [email, UNKNOWN.email])
      expect((await post("/api/auth/login", { email: tried, password: "wrong password" })).status).toBe(401);
    expect([await eventsOf(id), (await eventsOf(null)) - unknownBefore]).toEqual([1, 1]);
  });

  test("count the same, and after ten failures from one network a sign-in is refused with Retry-After", async () => {
    const { email, password } = await newAccount();
    const ip = "203.0.113.9";
    for (const tried of [email, `nobody-${crypto.randomUUID()}@example.com`]) {
      for (let i = 0; i < 10; i++) {
        const wrong = { email: tried, password: "wrong password" };
        expect((await post("/api/auth/login", wrong, { ip })).status).toBe(401);
      }
      const refused = await post("/api/auth/login", { email: tried, password }, { ip });
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(refused.headers.get("ratelimit-policy")).toBe('"loginByClient";q=10;w=86400');
      expect(await refused.json()).toMatchObject({
        code: "rate_limited",
        detail: "Too many wrong passwords. Reset the password to sign in now.",
      });
    }
  });
});

test("an IP address is refused after sixty sign-ins, for any account", async () => {
  const ip = "203.0.113.7";
  await useUp("loginByIp", ip, 60);
  expect((await post("/api/auth/login", UNKNOWN, { ip })).status).toBe(429);
  expect((await post("/api/auth/login", UNKNOWN, { ip: "203.0.113.8" })).status).toBe(401);
});

// ASVS 2.2.1, 2.2.2, 15.3.5
test("a validation error lists every missing or mistyped field", async () => {
  const response = await post("/api/auth/login", { email: "not an email", password: 5 });
  expect(response.status).toBe(422);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const { code, errors } = await response.json();
  expect(code).toBe("validation_failed");
  expect(errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual(["/email", "/password"]);
});

// ASVS 6.2.8
test.each([72, 73, 200])("every byte of a password of %i bytes counts", async (length) => {
  const email = `long-${crypto.randomUUID()}@example.com`;
  const password = "p".repeat(length);
  expect((await post("/api/auth/register", { email, password })).status).toBe(201);
  for (const wrong of [`${password}x`, password.slice(1), `${password.slice(1)}x`]) {
    expect((await post("/api/auth/login", { email, password: wrong })).status).toBe(401);
  }
  expect((await post("/api/auth/login", { email, password })).status).toBe(200);
});
