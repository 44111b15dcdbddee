import { pino } from "pino";
import { expect, test } from "vitest";
import { AppError } from "@/lib/errors";
import { newAccount } from "@/tests/support/accounts";
import { answerOf, call, get, post } from "@/tests/support/api";
import { csrfToken, Jar, postForm, SESSION_COOKIE, session, signIn } from "@/tests/support/auth/browser";
import { BASE_URL, ctx, failingDatabase, withContext } from "@/tests/support/context";

/** Runs with a hasher that refuses every password at once. */
const withWrongPasswords = (run: () => Promise<void>) =>
  withContext({ hasher: { ...ctx().hasher, compare: async () => false } }, run);

// ASVS 7.4.1, 16.3.1
test("sign-in, session and sign-out use the same sessions as the API", async () => {
  const account = await newAccount();
  const jar = new Jar();
  expect((await signIn(jar, account)).status).toBe(200);
  expect(await session(jar)).toMatchObject({ user: { id: account.id, email: account.email } });
  expect((await get("/api/push/devices", { cookie: jar.header })).status).toBe(200);
  const oldCookie = jar.header;
  expect((await postForm(jar, "/api/auth/signout", { csrfToken: await csrfToken(jar) })).status).toBe(200);
  expect(jar.has(SESSION_COOKIE)).toBe(false);
  expect((await get("/api/push/devices", { cookie: oldCookie })).status).toBe(401);
  expect(await (await get("/api/auth/session", { cookie: oldCookie })).json()).toEqual({});
  const events = await ctx().db.auditEvent.findMany({ where: { accountId: account.id }, orderBy: { at: "asc" } });
  expect(events.map(({ type }) => type)).toEqual(["registered", "signed_in", "signed_out"]);
});

test("a wrong password and invalid input do not sign in", async () => {
  const { email } = await newAccount();
  for (const wrong of [
    { email, password: "wrong password" },
    { email: "x", password: "" },
  ]) {
    const jar = new Jar();
    expect((await signIn(jar, wrong)).status).toBe(401);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
  }
});

test("a sign-in at an overloaded service is not refused as a wrong password", async () => {
  const account = await newAccount();
  const compare = () => Promise.reject(new AppError("overloaded"));
  await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
    const response = await signIn(new Jar(), account);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).not.toBeNull();
    expect(await response.json()).toMatchObject({ code: "overloaded" });
  });
});

// ASVS 6.3.4
test("next-auth and the API share one count of failures", async () => {
  const account = await newAccount();
  await withWrongPasswords(async () => {
    for (let i = 0; i < 30; i++) await signIn(new Jar(), { email: account.email, password: "wrong password" });
  });
  expect((await call("POST", "/api/auth/login", { json: account })).status).toBe(429);
});

test("a browser that signed in through next-auth is recognized while strangers block the network", async () => {
  const { email, password } = await newAccount();
  const jar = new Jar();
  await signIn(jar, { email, password });
  await withWrongPasswords(async () => {
    for (let i = 0; i < 30; i++) await post("/api/auth/login", { email, password: "wrong password" });
  });
  expect((await post("/api/auth/login", { email, password })).status).toBe(429);
  expect((await (await signIn(jar, { email, password })).json()).url).toBe(`${BASE_URL}/`);
});

// ASVS 3.5.1, 3.5.2
test("sign-in requires next-auth's CSRF token and the service's own origin", async () => {
  const account = await newAccount();
  const jar = new Jar();
  await csrfToken(jar);
  await postForm(jar, "/api/auth/callback/credentials", {
    email: account.email,
    password: account.password,
    csrfToken: "x",
  });
  expect(jar.has(SESSION_COOKIE)).toBe(false);
  const token = await csrfToken(jar);
  const foreign = await postForm(
    jar,
    "/api/auth/callback/credentials",
    { email: account.email, password: account.password, csrfToken: token },
    { origin: "https://evil.example" },
  );
  expect(foreign.status).toBe(403);
  expect(jar.has(SESSION_COOKIE)).toBe(false);
});

test.each([
  "/api/auth/nothing",
  "/api/auth/callback/unknown",
  "/api/auth/session/more",
  "/api/auth/signin/a/b",
  "/api/auth/callback",
])("%s returns 404 with a problem document", async (path) => {
  expect(await answerOf(await get(path))).toMatchObject({ status: 404, body: { code: "not_found" } });
});

test("a sign-in that is posted without a provider returns 404", async () => {
  const { token } = await newAccount();
  expect(await answerOf(await post("/api/auth/signin", {}, { token }))).toMatchObject({
    status: 404,
    body: { code: "not_found" },
  });
});

// ASVS 16.5.2, 16.5.3
test("an unavailable database causes 503 and does not remove the session cookie", async () => {
  const jar = new Jar();
  await signIn(jar, await newAccount());
  const response = await withContext({ db: failingDatabase() }, () => get("/api/auth/session", { cookie: jar.header }));
  expect(response.status).toBe(503);
  expect(response.headers.getSetCookie()).toEqual([]);
});

test("links are built from the configuration, never from the Host header", async () => {
  const headers = { host: "evil.example", "x-forwarded-host": "evil.example" };
  const providers = await (await get("/api/auth/providers", { headers })).json();
  expect(providers.credentials.callbackUrl).toBe(`${BASE_URL}/api/auth/callback/credentials`);
});

test.each(["x", "http://[", "/\\a:b", "javascript:alert(1)"])(
  "the invalid callback URL %j is not followed and causes no error",
  async (callbackUrl) => {
    const query = `callbackUrl=${encodeURIComponent(callbackUrl)}`;
    for (const action of ["csrf", "session", "providers", "signin"]) {
      expect((await get(`/api/auth/${action}?${query}`)).status).toBeLessThan(400);
      const cookie = `next-auth.callback-url=${encodeURIComponent(callbackUrl)}`;
      expect((await get(`/api/auth/${action}`, { cookie })).status).toBeLessThan(400);
    }
  },
);

test.each([5, {}, "//["])(
  "the invalid posted callback URL %j is not followed and causes no server error",
  async (callbackUrl) => {
    for (const action of ["signout", "signin/credentials", "callback/credentials", "_log"]) {
      const response = await call("POST", `/api/auth/${action}`, {
        json: { callbackUrl, csrfToken: "x", json: "true" },
        headers: { origin: BASE_URL },
      });
      expect(response.status).toBeLessThan(500);
    }
  },
);

test("the callback of an emailed link refuses a token that is not text", async () => {
  const send = async (json: object) => {
    const response = await call("POST", "/api/auth/callback/email", { json, headers: { origin: BASE_URL } });
    return [response.status, response.headers.get("location")];
  };
  expect(await send({ token: { toString: 1 } })).toEqual(await send({}));
});

// ASVS 1.1.2, 1.2.1, 1.2.3
test("a non-ASCII callback URL is percent-encoded in the Location header", async () => {
  const jar = new Jar();
  const csrf = await csrfToken(jar);
  const response = await call("POST", "/api/auth/signout", {
    cookie: jar.header,
    body: new URLSearchParams({ csrfToken: csrf, callbackUrl: "/☃" }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", origin: BASE_URL },
  });
  expect(response.status).toBe(302);
  expect(response.headers.get("location")).toBe(`${BASE_URL}/%E2%98%83`);
});

test("a browser's error report is accepted and not logged, because a caller can write anything", async () => {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  const report = { level: "error", code: "OAUTH_CALLBACK_ERROR", message: "forged", providerId: "google" };
  const response = await withContext({ log }, () =>
    call("POST", "/api/auth/_log", { json: report, headers: { origin: BASE_URL } }),
  );
  expect(response.status).toBe(200);
  expect(lines).toEqual([]);
});

test.each([
  ["signin", "/sign-in?callbackUrl="],
  ["signout", "/account"],
  ["verify-request", "/verify"],
  ["error?error=email_not_verified", "/sign-in?error=email_not_verified"],
  ["error?error=%3Cscript%3E", "/sign-in?error=%3Cscript%3E"],
  ["error", "/sign-in"],
])("/api/auth/%s redirects to %s", async (page, target) => {
  const response = await get(`/api/auth/${page}`);
  expect(response.status).toBe(302);
  expect(response.headers.get("location")?.startsWith(BASE_URL + target)).toBe(true);
  expect(response.headers.get("location")).not.toContain("undefined");
});
