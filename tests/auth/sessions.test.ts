import { EncryptJWT, SignJWT } from "jose";
import { encode } from "next-auth/jwt";
import { describe, expect, test } from "vitest";
import { deleteAccount, revokeSessions } from "@/lib/admin/accounts";
import { revokeSession } from "@/lib/auth/sessions/sessions";
import { signOut } from "@/lib/auth/sessions/sign-out";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const OWN = { origin: BASE_URL, "sec-fetch-site": "same-origin" };
const COOKIE = "next-auth.session-token";

const PROTECTED: [method: string, path: string, json?: unknown][] = [
  ["GET", "/api/auth/account/export"],
  ["HEAD", "/api/auth/account/export"],
  ["POST", "/api/auth/account/delete", { confirm: "DELETE" }],
  ["GET", "/api/subscription/status"],
  ["POST", "/api/push/register", { token: "ab".repeat(32) }],
  ["GET", "/api/push/devices"],
  ["DELETE", `/api/push/devices/${crypto.randomUUID()}`],
];

const rowOf = ({ sessionId }: TestAccount) => ctx().db.session.findUniqueOrThrow({ where: { id: sessionId } });
const isIn = async (token: string) => (await get("/api/push/devices", { token })).status === 200;

async function cookieOf({ email, password }: TestAccount): Promise<string> {
  const response = await post("/api/auth/login", { email, password }, { headers: OWN });
  return (response.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
}

describe("a token that is none of ours", () => {
  const secret = () => ctx().config.secret;
  const claimsOf = ({ id, sessionId }: TestAccount) => ({ sub: id, sid: sessionId, epoch: 0 });
  const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const forged: [name: string, forge: (account: TestAccount) => Promise<string> | string][] = [
    ["encrypted with another secret", (a) => encode({ token: claimsOf(a), secret: "another secret of enough length" })],
    [
      "made for another purpose, as the cookies on the way to a provider are",
      (a) => encode({ token: claimsOf(a), secret: secret(), salt: "next-auth.state" }),
    ],
    ["that has expired", (a) => encode({ token: claimsOf(a), secret: secret(), maxAge: -60 })],
    ["unsigned, with alg none", (a) => `${text({ alg: "none" })}.${text(claimsOf(a))}.`],
    ["in five parts, with alg none", (a) => `${text({ alg: "none", enc: "none" })}..${text({})}.${text(claimsOf(a))}.`],
    [
      "signed with the secret, not encrypted",
      (a) => new SignJWT(claimsOf(a)).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(secret())),
    ],
    [
      "encrypted with the secret itself",
      (a) =>
        new EncryptJWT(claimsOf(a))
          .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
          .encrypt(Buffer.from(secret().slice(0, 32))),
    ],
    ["of a session that never was", (a) => encode({ token: { ...claimsOf(a), sid: a.id }, secret: secret() })],
    ["of an earlier epoch", (a) => encode({ token: { ...claimsOf(a), epoch: -1 }, secret: secret() })],
    ["whose claims are no ids", (a) => encode({ token: { ...claimsOf(a), sid: "1' OR '1'='1" }, secret: secret() })],
    ["that was cut", (a) => a.token.slice(0, -4)],
  ];

  test.each(forged)("%s opens nothing", async (_, forge) => {
    const token = await forge(await newAccount());
    for (const [method, path, json] of PROTECTED) {
      const answers = [
        await call(method, path, { json, token }),
        await call(method, path, { json, cookie: `${COOKIE}=${token}`, headers: OWN }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([401, 401]);
    }
    expect(await (await get("/api/auth/session", { cookie: `${COOKIE}=${token}` })).json()).toEqual({});
  });

  test("somebody else's session under one's own name opens nothing", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const token = await encode({ token: { ...claimsOf(ann), sid: bob.sessionId }, secret: secret() });
    expect(await isIn(token)).toBe(false);
  });
});

describe("a session that ended", () => {
  test.each<[string, (account: TestAccount) => Promise<unknown>]>([
    ["by being revoked", ({ sessionId }) => revokeSession(ctx(), sessionId)],
    ["with its account", ({ id }) => deleteAccount(ctx(), id)],
  ])("%s opens nothing", async (_, end) => {
    const account = await newAccount();
    await end(account);
    for (const [method, path, json] of PROTECTED) {
      expect((await call(method, path, { json, token: account.token })).status).toBe(401);
    }
    expect(await (await get("/api/auth/session", { cookie: `${COOKIE}=${account.token}` })).json()).toEqual({});
  });
});

describe("a sign-out", () => {
  test("of several at the same moment is written down once", async () => {
    const { id, token } = await newAccount();
    const answers = await Promise.all([1, 2, 3].map(() => call("POST", "/api/auth/signout", { token })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await ctx().db.securityEvent.count({ where: { accountId: id, type: "signed_out" } })).toBe(1);
  });

  test("everywhere, by an operator, is written down once, and as an operator's", async () => {
    const account = await newAccount();
    await cookieOf(account);
    expect([await revokeSessions(ctx(), account.id), await revokeSessions(ctx(), account.id)]).toEqual([2, 0]);
    const events = await ctx().db.securityEvent.findMany({ where: { accountId: account.id, type: "signed_out" } });
    expect(events).toMatchObject([{ userAgent: "operator", network: null }]);
    expect(await isIn(account.token)).toBe(false);
  });

  test("that cannot be written down has not happened", async () => {
    const { id, sessionId, token } = await newAccount();
    const caller = { ip: "192.0.2.1", userAgent: "what no column takes: \0", deviceId: "" };
    await expect(signOut(ctx(), { sub: id, sid: sessionId }, caller)).rejects.toThrow();
    expect(await isIn(token)).toBe(true);
  });
});

describe("the life of a session", () => {
  test("a bearer token lives 30 days unused, and 90 days at most", async () => {
    const [idle, used] = [await newAccount(), await newAccount()];
    for (const day of [29, 58, 87]) {
      clock.reset();
      clock.advance(day * DAY_MS);
      expect(await isIn(used.token)).toBe(true);
    }
    expect(await isIn(idle.token)).toBe(false);
    clock.advance(3 * DAY_MS);
    expect(await isIn(used.token)).toBe(false);
  });

  test("a cookie lives 7 days unused, and 30 days at most", async () => {
    const account = await newAccount();
    const [idle, used] = [await cookieOf(account), await cookieOf(account)];
    const status = async (cookie: string) => (await get("/api/push/devices", { cookie })).status;
    for (const day of [6, 12, 18, 24, 29]) {
      clock.reset();
      clock.advance(day * DAY_MS);
      expect(await status(used)).toBe(200);
    }
    expect(await status(idle)).toBe(401);
    clock.advance(DAY_MS);
    expect(await status(used)).toBe(401);
  });

  test("is noted as seen once a minute at most", async () => {
    const account = await newAccount();
    const opened = await rowOf(account);
    clock.advance(59_000);
    await isIn(account.token);
    expect((await rowOf(account)).lastSeenAt).toEqual(opened.lastSeenAt);
    clock.advance(2_000);
    await Promise.all([isIn(account.token), isIn(account.token)]);
    const seen = await rowOf(account);
    expect(seen.lastSeenAt.getTime()).toBeGreaterThan(opened.lastSeenAt.getTime());
    expect(seen.idleExpiresAt.getTime() - seen.lastSeenAt.getTime()).toBe(30 * DAY_MS);
    expect(seen.expiresAt).toEqual(opened.expiresAt);
  });

  test("costs one query, and no more with the account", async () => {
    const { token } = await newAccount();
    let queries = 0;
    const counted = ctx().db.$extends({
      query: {
        $allOperations: ({ args, query }) => {
          queries += 1;
          return query(args);
        },
      },
    }) as unknown as ReturnType<typeof ctx>["db"];
    await withContext({ db: counted }, () => get("/api/push/devices", { token }));
    expect(queries).toBe(2); // the check, and the devices
  });

  test("among twenty-one the oldest ends; those that have run out do not count", async () => {
    const account = await newAccount();
    const { email, password, id, token } = account;
    const { db } = ctx();
    const logIn = () => post("/api/auth/login", { email, password });
    const now = ctx().now();
    await db.session.createMany({
      data: Array.from({ length: 25 }, () => ({
        ...{ accountId: id, transport: "cookie" as const, createdAt: new Date(now.getTime() + 1000) },
        ...{ authenticatedAt: now, lastSeenAt: now, idleExpiresAt: now, expiresAt: new Date(now.getTime() + DAY_MS) },
      })),
    });
    for (let i = 0; i < 19; i++) expect((await logIn()).status).toBe(200);
    expect(await isIn(token)).toBe(true);
    const { sessionId } = account;
    const device = await post("/api/push/register", { token: "ef".repeat(32) }, { token });
    expect(device.status).toBe(202);
    await logIn();
    expect(await isIn(token)).toBe(false);
    expect(await db.pushDevice.count({ where: { sessionId } })).toBe(0);
    const live = { accountId: id, revokedAt: null, idleExpiresAt: { gt: ctx().now() } };
    expect(await db.session.count({ where: live })).toBe(20);
  });

  test("sign-ins at one moment leave twenty sessions at most", async () => {
    const { id, email, password } = await newAccount();
    for (let i = 0; i < 18; i++) await post("/api/auth/login", { email, password });
    await Promise.all(Array.from({ length: 6 }, () => post("/api/auth/login", { email, password })));
    expect(await ctx().db.session.count({ where: { accountId: id, revokedAt: null } })).toBe(20);
  });
});

describe("a cookie is of use to our own pages alone", () => {
  const forbidden: [string, Record<string, string>][] = [
    ["a cross-site page", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
    ["a cross-site page on an old browser", { origin: "https://evil.example" }],
    ["a sandboxed frame, whose Origin is null", { origin: "null" }],
    ["a sandboxed frame that says cross-site", { origin: "null", "sec-fetch-site": "cross-site" }],
    ["another host of the same domain", { "sec-fetch-site": "same-site", origin: "http://other.localhost:3000" }],
    ["a cross-site page that claims our origin", { "sec-fetch-site": "cross-site", origin: BASE_URL }],
    ["nobody that a browser names", {}],
  ];
  const changing = PROTECTED.filter(([method]) => method === "POST" || method === "DELETE");

  test.each(forbidden)("not to %s", async (_, headers) => {
    const account = await newAccount();
    const cookie = await cookieOf(account);
    for (const [method, path, json] of changing) {
      const response = await call(method, path, { json, cookie, headers });
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ code: "origin_not_allowed" });
    }
    expect(await ctx().db.account.count({ where: { id: account.id } })).toBe(1);
  });

  test("an origin that is trusted may on the same site, and on another site as little as any", async () => {
    const cookie = await cookieOf(await newAccount());
    const origin = "https://app.example.com";
    const remove = (site: Record<string, string>) =>
      call("DELETE", `/api/push/devices/${crypto.randomUUID()}`, { cookie, headers: { origin, ...site } });
    await withContext({ config: { AUTH_TRUSTED_ORIGINS: [origin] } }, async () => {
      expect((await remove({ "sec-fetch-site": "same-site" })).status).toBe(404);
      expect((await remove({})).status).toBe(404);
      expect((await remove({ "sec-fetch-site": "cross-site" })).status).toBe(403);
    });
  });

  test("over https it is bound to its host, to https, and to what no script reads", async () => {
    const { email, password } = await newAccount();
    await withContext({ config: { baseUrl: "https://api.example.com" } }, async () => {
      const headers = { "sec-fetch-site": "same-origin" };
      const login = await post("/api/auth/login", { email, password }, { headers });
      const lines = login.headers.getSetCookie().map((line) => line.split("; "));
      const [[cookie = ""] = [], [device] = []] = lines;
      expect(cookie).toMatch(/^__Host-next-auth\.session-token=/);
      expect(device).toMatch(/^__Host-homeport\.device=/);
      const bound = ["Path=/", expect.stringMatching(/^Expires=/), "HttpOnly", "SameSite=Lax", "Secure"];
      expect(lines.map(([, ...attributes]) => attributes)).toEqual([bound, bound]);
      expect((await get("/api/push/devices", { cookie })).status).toBe(200);
      expect((await get("/api/push/devices", { cookie: cookie.replace("__Host-", "") })).status).toBe(401);
    });
  });

  test("a bearer token needs no origin: no browser sends it by itself", async () => {
    const { token } = await newAccount();
    const headers = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    const response = await call("DELETE", `/api/push/devices/${crypto.randomUUID()}`, { token, headers });
    expect(response.status).toBe(404);
  });
});
