import { EncryptJWT, SignJWT } from "jose";
import { encode } from "next-auth/jwt";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { revokeAccountSessions } from "@/lib/accounts/admin/change-account";
import { deleteAccountAsOperator } from "@/lib/accounts/delete-account";
import { revokeSession, signOut } from "@/lib/auth/sessions/sessions";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole, OPERATOR } from "@/tests/support/auth/api-keys";
import { BASE_URL, clock, ctx, SECRET, withContext } from "@/tests/support/context";
import { countLockWaits, postgresUrl } from "@/tests/support/database";
import { submit } from "@/tests/support/web/forms";

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
  ["GET", "/api/auth/passkeys"],
  ["POST", "/api/auth/passkeys/options", {}],
  ["DELETE", `/api/auth/passkeys/${crypto.randomUUID()}`],
  ["GET", "/api/auth/factors"],
  ["POST", "/api/auth/factors/totp", {}],
  ["DELETE", "/api/auth/factors/totp", {}],
  ["POST", "/api/auth/factors/recovery-codes", {}],
];

const rowOf = ({ sessionId }: TestAccount) => ctx().db.session.findUniqueOrThrow({ where: { id: sessionId } });
const isValid = async (token: string) => (await get("/api/push/devices", { token })).status === 200;

/** Resolves when the use of one of the account's sessions is stored, which happens in the background. */
const untilUseIsStored = ({ id: accountId }: TestAccount) =>
  expect
    .poll(() => {
      const lastSeenAt = { gte: new Date(clock.now().getTime() - MINUTE_MS) };
      return ctx().db.session.count({ where: { accountId, lastSeenAt } });
    })
    .toBeGreaterThan(0);

async function cookieOf({ email, password }: TestAccount): Promise<string> {
  const response = await post("/api/auth/login", { email, password }, { headers: OWN });
  return (response.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
}

describe("a forged token", () => {
  let account: TestAccount;
  beforeAll(async () => {
    account = await newAccount();
  });
  const claimsOf = ({ id, sessionId }: TestAccount) => ({ sub: id, sid: sessionId, epoch: 0 });
  const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const forged: [name: string, forge: (account: TestAccount) => Promise<string> | string][] = [
    ["encrypted with another secret", (a) => encode({ token: claimsOf(a), secret: "another secret of enough length" })],
    [
      "created for another purpose, as the cookies of a sign-in with a provider are",
      (a) => encode({ token: claimsOf(a), secret: SECRET, salt: "next-auth.state" }),
    ],
    ["that has expired", (a) => encode({ token: claimsOf(a), secret: SECRET, maxAge: -60 })],
    ["unsigned, with alg none", (a) => `${text({ alg: "none" })}.${text(claimsOf(a))}.`],
    ["in five parts, with alg none", (a) => `${text({ alg: "none", enc: "none" })}..${text({})}.${text(claimsOf(a))}.`],
    [
      "signed with the secret, not encrypted",
      (a) => new SignJWT(claimsOf(a)).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(SECRET)),
    ],
    [
      "encrypted with the secret itself",
      (a) =>
        new EncryptJWT(claimsOf(a))
          .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
          .encrypt(Buffer.from(SECRET.slice(0, 32))),
    ],
    ["of a session that does not exist", (a) => encode({ token: { ...claimsOf(a), sid: a.id }, secret: SECRET })],
    ["of an earlier epoch", (a) => encode({ token: { ...claimsOf(a), epoch: -1 }, secret: SECRET })],
    ["whose claims are not ids", (a) => encode({ token: { ...claimsOf(a), sid: "1' OR '1'='1" }, secret: SECRET })],
    ["that is truncated", (a) => a.token.slice(0, -4)],
  ];

  // ASVS 7.2.1, 7.2.2, 7.2.3, 9.1.1, 9.1.2, 9.1.3, 9.2.1, 9.2.2, 9.2.3, 10.3.1, 11.2.5, 11.3.1, 11.3.2, 11.3.3
  test.each(forged)("%s is refused", async (_, forge) => {
    const token = await forge(account);
    const cookie = `${COOKIE}=${token}`;
    const responses = [await get("/api/push/devices", { token }), await get("/api/push/devices", { cookie })];
    expect(responses.map(({ status }) => status)).toEqual([401, 401]);
    expect(await (await get("/api/auth/session", { cookie })).json()).toEqual({});
  });

  // ASVS 8.2.2, 10.3.3
  test("another account's session id with one's own account id is refused", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const token = await encode({ token: { ...claimsOf(ann), sid: bob.sessionId }, secret: SECRET });
    expect(await isValid(token)).toBe(false);
  });
});

test.each<[string, (account: TestAccount) => Promise<unknown>]>([
  ["that is revoked", ({ sessionId }) => revokeSession(ctx(), sessionId)],
  ["whose account is deleted", ({ id }) => deleteAccountAsOperator(ctx(), OPERATOR, id)],
  // ASVS 7.4.2
])("a session %s is refused", async (_, end) => {
  const account = await newAccount();
  await end(account);
  for (const [method, path, json] of PROTECTED) {
    const responses = [
      await call(method, path, { json, token: account.token }),
      await call(method, path, { json, cookie: `${COOKIE}=${account.token}`, headers: OWN }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([401, 401]);
  }
});

describe("a sign-out", () => {
  test("is recorded once if several are concurrent", async () => {
    const { id, token } = await newAccount();
    const responses = await Promise.all([1, 2, 3].map(() => call("POST", "/api/auth/signout", { token })));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await ctx().db.auditEvent.count({ where: { accountId: id, type: "signed_out" } })).toBe(1);
  });

  test("of all sessions by an operator is recorded once, as an operator's", async () => {
    const account = await newAccount();
    await cookieOf(account);
    const end = async () => (await revokeAccountSessions(ctx(), OPERATOR, account.id)).sessionsEnded;
    expect([await end(), await end()]).toEqual([2, 0]);
    const events = await ctx().db.auditEvent.findMany({ where: { accountId: account.id, type: "signed_out" } });
    expect(events).toMatchObject([{ actor: "operator", userAgent: null, network: null }]);
    expect(await isValid(account.token)).toBe(false);
  });

  test("that cannot be recorded does not happen", async () => {
    const { id, sessionId, token } = await newAccount();
    const caller = { ip: "192.0.2.1", userAgent: "not storable: \0", deviceId: "" };
    await expect(signOut(ctx(), { sub: id, sid: sessionId }, caller)).rejects.toThrow();
    expect(await isValid(token)).toBe(true);
  });
});

describe("the lifetime of a session", () => {
  // ASVS 7.3.1, 7.3.2
  test("a bearer token expires after 30 days without use, and after 90 days at most", async () => {
    const [idle, used] = [await newAccount(), await newAccount()];
    for (const day of [29, 58, 87]) {
      clock.reset();
      clock.advance(day * DAY_MS);
      expect(await isValid(used.token)).toBe(true);
      await untilUseIsStored(used);
    }
    expect(await isValid(idle.token)).toBe(false);
    clock.advance(3 * DAY_MS);
    expect(await isValid(used.token)).toBe(false);
  });

  // ASVS 7.3.1, 7.3.2
  test("a cookie expires after 7 days without use, and after 30 days at most", async () => {
    const account = await newAccount();
    const [idle, used] = [await cookieOf(account), await cookieOf(account)];
    const status = async (cookie: string) => (await get("/api/push/devices", { cookie })).status;
    for (const day of [6, 12, 18, 24, 29]) {
      clock.reset();
      clock.advance(day * DAY_MS);
      expect(await status(used)).toBe(200);
      await untilUseIsStored(account);
    }
    expect(await status(idle)).toBe(401);
    clock.advance(DAY_MS);
    expect(await status(used)).toBe(401);
  });

  test("a token that was accepted is refused after its own expiry", async () => {
    const { id, sessionId } = await newAccount();
    const token = await encode({ token: { sub: id, sid: sessionId, epoch: 0 }, secret: SECRET, maxAge: 60 });
    expect([await isValid(token), await isValid(token)]).toEqual([true, true]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * MINUTE_MS });
    onTestFinished(() => void vi.useRealTimers());
    expect(await isValid(token)).toBe(false);
  });

  test("that has expired, but not yet by another instance's clock, ends with the others, without an event", async () => {
    const account = await newAccount();
    clock.advance(30 * DAY_MS + 5_000);
    const own = await cookieOf(account);
    const ended = await submit("account/other-sessions", {}, { cookie: own });
    expect(ended.headers.get("location")).toBe("/account?done=sessions_ended");
    expect(await eventsOf(account.id)).toEqual(["registered", "signed_in"]);
    clock.advance(-10_000);
    expect(await isValid(account.token)).toBe(false);
  });

  test("that has expired, but not yet by another instance's clock, can be ended by its owner and by an operator", async () => {
    const [account, another] = [await newAccount(), await newAccount()];
    clock.advance(30 * DAY_MS + 5_000);
    const { token } = await accountWithRole("support");
    const ended = await submit("account/session", { id: account.sessionId }, { cookie: await cookieOf(account) });
    expect(ended.headers.get("location")).toBe("/account?done=session_ended");
    const path = `/api/admin/accounts/${another.id}/sessions/${another.sessionId}`;
    expect([(await call("DELETE", path, { token })).status, (await call("DELETE", path, { token })).status]).toEqual([
      200, 404,
    ]);
    clock.advance(-10_000);
    expect([await isValid(account.token), await isValid(another.token)]).toEqual([false, false]);
  });

  test("is extended by use at most once a minute", async () => {
    const account = await newAccount();
    const opened = await rowOf(account);
    clock.advance(59_000);
    await isValid(account.token);
    expect((await rowOf(account)).lastSeenAt).toEqual(opened.lastSeenAt);
    clock.advance(2_000);
    await Promise.all([isValid(account.token), isValid(account.token)]);
    await expect.poll(async () => (await rowOf(account)).lastSeenAt).not.toEqual(opened.lastSeenAt);
    const seen = await rowOf(account);
    expect(seen.lastSeenAt.getTime()).toBeGreaterThan(opened.lastSeenAt.getTime());
    expect(seen.idleExpiresAt.getTime() - seen.lastSeenAt.getTime()).toBe(30 * DAY_MS);
    expect(seen.expiresAt).toEqual(opened.expiresAt);
  });

  test("reads while the database refuses writes, on a full disk or after a move", async () => {
    const account = await newAccount();
    await ctx().db.$executeRaw`CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN RAISE EXCEPTION USING ERRCODE = ''read_only_sql_transaction''; END'`;
    await ctx().db.$executeRaw`CREATE TRIGGER refuse_write BEFORE UPDATE ON "Session" EXECUTE FUNCTION refuse_write()`;
    onTestFinished(async () => void (await ctx().db.$executeRaw`DROP FUNCTION refuse_write CASCADE`));
    clock.advance(2 * MINUTE_MS);
    expect(await isValid(account.token)).toBe(true);
  });

  // ASVS 7.2.1, 7.2.2, 7.2.3
  test("is checked by one query, which also reads the account", async () => {
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

  test("the twenty-first session ends the oldest, and expired sessions do not count", async () => {
    const account = await newAccount();
    const { email, password, id, token } = account;
    const { db } = ctx();
    const logIn = () => post("/api/auth/login", { email, password });
    const now = ctx().now();
    await db.session.createMany({
      data: Array.from({ length: 25 }, () => ({
        accountId: id,
        transport: "cookie" as const,
        createdAt: new Date(now.getTime() + 1000),
        authenticatedAt: now,
        lastSeenAt: now,
        idleExpiresAt: now,
        expiresAt: new Date(now.getTime() + DAY_MS),
      })),
    });
    for (let i = 0; i < 19; i++) expect((await logIn()).status).toBe(200);
    expect(await isValid(token)).toBe(true);
    const { sessionId } = account;
    expect((await post("/api/push/register", { token: "ef".repeat(32) }, { token })).status).toBe(202);
    await logIn();
    expect(await isValid(token)).toBe(false);
    expect(await db.pushDevice.count({ where: { sessionId } })).toBe(0);
    const live = { accountId: id, revokedAt: null, idleExpiresAt: { gt: ctx().now() } };
    expect(await db.session.count({ where: live })).toBe(20);
  });

  test("concurrent sign-ins leave twenty sessions at most", async () => {
    const { id, email, password } = await newAccount();
    for (let i = 0; i < 18; i++) await post("/api/auth/login", { email, password });
    await Promise.all(Array.from({ length: 6 }, () => post("/api/auth/login", { email, password })));
    expect(await ctx().db.session.count({ where: { accountId: id, revokedAt: null } })).toBe(20);
  });
});

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  test("a sign-in that waits for a concurrent one counts the session of that one", async () => {
    const { id, email, password } = await newAccount();
    for (let i = 0; i < 18; i++) await post("/api/auth/login", { email, password });
    const { db } = ctx();
    const session = await db.session.findFirstOrThrow({ where: { accountId: id }, omit: { id: true } });
    let waiting: Promise<Response> | undefined;
    await db.$transaction(async (tx) => {
      await tx.account.update({ where: { id }, data: { unverifiedExpiresAt: null } });
      await tx.session.create({ data: session });
      waiting = post("/api/auth/login", { email, password });
      await expect.poll(() => countLockWaits(db)).toBe(1);
    });
    expect((await waiting)?.status).toBe(200);
    expect(await db.session.count({ where: { accountId: id, revokedAt: null } })).toBe(20);
  });
});

describe("a cookie is accepted only from the service's own pages", () => {
  const forbidden: [string, Record<string, string>][] = [
    ["a cross-site page", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
    ["a cross-site page on an old browser", { origin: "https://evil.example" }],
    ["a sandboxed frame, whose Origin is null", { origin: "null" }],
    ["a cross-site sandboxed frame", { origin: "null", "sec-fetch-site": "cross-site" }],
    ["another host of the same domain", { "sec-fetch-site": "same-site", origin: "http://other.localhost:3000" }],
    ["a cross-site page that claims our origin", { "sec-fetch-site": "cross-site", origin: BASE_URL }],
    ["a client that sends neither Origin nor Sec-Fetch-Site", {}],
  ];
  const changing = PROTECTED.filter(([method]) => method === "POST" || method === "DELETE");

  // ASVS 3.5.1, 3.5.2
  test.each(forbidden)("not from %s", async (_, headers) => {
    const account = await newAccount();
    const cookie = await cookieOf(account);
    for (const [method, path, json] of changing) {
      const response = await call(method, path, { json, cookie, headers });
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ code: "origin_not_allowed" });
    }
    expect(await ctx().db.account.count({ where: { id: account.id } })).toBe(1);
  });

  test("a trusted origin is accepted on the same site, but not on another site", async () => {
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

  // ASVS 3.3.1, 3.3.2, 3.3.3
  test("with https it is bound to its host and to https, and scripts cannot read it", async () => {
    const { email, password } = await newAccount();
    await withContext({ config: { baseUrl: "https://api.example.com" } }, async () => {
      const headers = { "sec-fetch-site": "same-origin" };
      const login = await post("/api/auth/login", { email, password }, { headers });
      const cookies = login.headers.getSetCookie().map((header) => header.split("; "));
      const [[cookie = ""] = [], [device] = []] = cookies;
      expect(cookie).toMatch(/^__Host-next-auth\.session-token=/);
      expect(device).toMatch(/^__Host-homeport\.device=/);
      const bound = ["Path=/", expect.stringMatching(/^Expires=/), "HttpOnly", "SameSite=Lax", "Secure"];
      expect(cookies.map(([, ...attributes]) => attributes)).toEqual([bound, bound]);
      expect((await get("/api/push/devices", { cookie })).status).toBe(200);
      expect((await get("/api/push/devices", { cookie: cookie.replace("__Host-", "") })).status).toBe(401);
    });
  });

  test("a bearer token requires no origin, because browsers never add it to a request", async () => {
    const { token } = await newAccount();
    const headers = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await call("DELETE", `/api/push/devices/${crypto.randomUUID()}`, { token, headers })).status).toBe(404);
  });
});
