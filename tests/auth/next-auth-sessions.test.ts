import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { csrfToken, Jar, postForm, SESSION_COOKIE, signIn } from "@/tests/support/auth/browser";
import { BASE_URL, ctx, databaseWithoutTransactions, withContext } from "@/tests/support/context";

test("a sign-out without a database returns 503, and the session stays valid", async () => {
  const jar = new Jar();
  await signIn(jar, await newAccount());
  const token = await csrfToken(jar);
  const response = await withContext({ db: databaseWithoutTransactions() }, () =>
    postForm(jar, "/api/auth/signout", { csrfToken: token }),
  );
  expect(response.status).toBe(503);
  expect(jar.has(SESSION_COOKIE)).toBe(true);
  expect((await get("/api/push/devices", { cookie: jar.header })).status).toBe(200);
});

test("a cross-site fetch of the session sets no cookie", async () => {
  const jar = new Jar();
  await signIn(jar, await newAccount());
  const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" };
  expect((await get("/api/auth/session", { cookie: jar.header, headers })).headers.getSetCookie()).toEqual([]);
});

describe("with a bearer token", () => {
  test("the session is the same as with the cookie, and no cookie is set", async () => {
    const { id, email, token } = await newAccount();
    const response = await get("/api/auth/session", { token });
    expect(await response.json()).toEqual({
      user: { id, email, name: null, image: null, role: "user" },
      expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  test("signing out ends the session and its devices, needs no CSRF token or origin, and can be repeated", async () => {
    const account = await newAccount();
    const { token } = account;
    expect((await post("/api/push/register", { token: "ab".repeat(32) }, { token })).status).toBe(202);
    for (const attempt of [1, 2]) {
      const response = await call("POST", "/api/auth/signout", { token });
      expect([attempt, response.status]).toEqual([attempt, 200]);
      expect(await response.json()).toEqual({ url: BASE_URL });
    }
    expect((await get("/api/push/devices", { token })).status).toBe(401);
    expect(await (await get("/api/auth/session", { token })).json()).toEqual({});
    expect(await ctx().db.pushDevice.count({ where: { accountId: account.id } })).toBe(0);
    const events = await ctx().db.auditEvent.findMany({ where: { accountId: account.id, type: "signed_out" } });
    expect(events).toHaveLength(1);
  });

  test("a sign-out without a database returns 503, and the session stays valid", async () => {
    const { token } = await newAccount();
    const db = databaseWithoutTransactions();
    expect((await withContext({ db }, () => call("POST", "/api/auth/signout", { token }))).status).toBe(503);
    expect((await get("/api/push/devices", { token })).status).toBe(200);
  });

  test("that is no session, signing out causes no error", async () => {
    for (const token of ["nonsense", "a.b.c", ""]) {
      const headers = { authorization: `Bearer ${token}` };
      expect(await (await get("/api/auth/session", { headers })).json()).toEqual({});
      expect((await call("POST", "/api/auth/signout", { headers })).status).toBeLessThan(500);
    }
  });
});

test("signing out of an ended session causes no error and removes the cookie", async () => {
  const jar = new Jar();
  const account = await newAccount();
  await signIn(jar, account);
  await ctx().db.session.updateMany({ where: { accountId: account.id }, data: { revokedAt: new Date() } });
  expect((await postForm(jar, "/api/auth/signout", { csrfToken: await csrfToken(jar) })).status).toBe(200);
  expect(jar.has(SESSION_COOKIE)).toBe(false);
});

// ASVS 7.2.4
test("signing in again ends the session whose cookie is replaced", async () => {
  const account = await newAccount();
  const jar = new Jar();
  await signIn(jar, account);
  const before = jar.header;
  await signIn(jar, account);
  expect((await get("/api/push/devices", { cookie: before })).status).toBe(401);
  expect((await get("/api/push/devices", { cookie: jar.header })).status).toBe(200);
});

test("a session token in chunks, as next-auth writes long ones, is not a session", async () => {
  const jar = new Jar();
  await signIn(jar, await newAccount());
  const token = jar.get(SESSION_COOKIE) ?? "";
  const cookie = `${SESSION_COOKIE}.0=${token.slice(0, 100)}; ${SESSION_COOKIE}.1=${token.slice(100)}`;
  expect(await (await get("/api/auth/session", { cookie })).json()).toEqual({});
});
