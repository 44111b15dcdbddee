import { expect, test } from "vitest";
import { eventsOf, newAccount, requestReset, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { signInToBrowser } from "@/tests/support/auth/oauth-client";
import { clock, ctx, useUp, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { cookiesOf } from "@/tests/support/web/forms";

const CHANGE = "/api/auth/password/change";
const NEW_PASSWORD = "an entirely new password";
const OWN = { headers: { "sec-fetch-site": "same-origin" } };

const change = ({ token, password }: Pick<TestAccount, "token" | "password">, further: object = {}) =>
  post(CHANGE, { password, newPassword: NEW_PASSWORD, ...further }, { token });
const logIn = async (email: string, password: string) => (await post("/api/auth/login", { email, password })).status;
const statusOf = async (token: string) => (await get("/api/subscription/status", { token })).status;

// ASVS 6.2.2, 6.2.3, 7.4.3
test("the current password sets a new one, ends the other sessions and emails the owner", async () => {
  const account = await newAccount();
  const { token: other } = await (await post("/api/auth/login", account)).json();
  const response = await change(account);
  expect(response.status).toBe(200);
  const changed = await response.json();
  expect(changed).toEqual({ status: "password_changed", token: expect.any(String), tokenType: "Bearer" });
  expect([await statusOf(changed.token), await statusOf(account.token), await statusOf(other)]).toEqual([
    200, 401, 401,
  ]);
  expect(await logIn(account.email, account.password)).toBe(401);
  expect(await logIn(account.email, NEW_PASSWORD)).toBe(200);
  expect(await eventsOf(account.id)).toContain("password_changed");
  expect(await mailbox.waitFor(account.email)).toContain("was changed");
});

test("a cookie is replaced, and its session stays the same", async () => {
  const account = await newAccount();
  const cookie = await signInToBrowser(account);
  const before = await ctx().db.session.findFirstOrThrow({ where: { accountId: account.id, transport: "cookie" } });
  const { password } = account;
  const response = await post(CHANGE, { password, newPassword: NEW_PASSWORD }, { cookie, ...OWN });
  expect(await response.json()).toEqual({ status: "password_changed" });
  expect((await get("/api/subscription/status", { cookie })).status).toBe(401);
  expect((await get("/api/subscription/status", { cookie: cookiesOf(response) })).status).toBe(200);
  const live = await ctx().db.session.findMany({ where: { accountId: account.id, revokedAt: null } });
  expect(live.map(({ id }) => id)).toEqual([before.id]);
});

test("with keepOtherSessions every session and token stays", async () => {
  const account = await newAccount();
  const { token: other } = await (await post("/api/auth/login", account)).json();
  expect(await (await change(account, { keepOtherSessions: true })).json()).toEqual({ status: "password_changed" });
  expect([await statusOf(account.token), await statusOf(other)]).toEqual([200, 200]);
  expect(await logIn(account.email, NEW_PASSWORD)).toBe(200);
});

// ASVS 6.2.2, 6.2.3
test("the current password is required, however recent the sign-in", async () => {
  const account = await newAccount();
  for (const password of [undefined, "not the password"]) {
    const refused = await post(CHANGE, { password, newPassword: NEW_PASSWORD }, { token: account.token });
    expect(refused.status).toBe(403);
    const { code, errors } = await refused.json();
    expect([code, errors[0].pointer]).toEqual(["reauthentication_required", "/password"]);
  }
  expect(await logIn(account.email, account.password)).toBe(200);
  expect((await post(CHANGE, { newPassword: NEW_PASSWORD })).status).toBe(401);
});

test("an account without a password sets its first one after a recent sign-in, and no later", async () => {
  const account = await newAccount();
  await ctx().db.account.update({ where: { id: account.id }, data: { passwordHash: null } });
  const setFirst = () => post(CHANGE, { newPassword: NEW_PASSWORD }, { token: account.token });
  clock.advance(10 * 60_000 + 1);
  expect((await setFirst()).status).toBe(403);
  clock.advance(-5 * 60_000);
  expect((await setFirst()).status).toBe(200);
  expect(await logIn(account.email, NEW_PASSWORD)).toBe(200);
});

test("a new password that the policy refuses is an error at /newPassword", async () => {
  const account = await newAccount();
  const errorsOf = async (newPassword: string) => (await (await change(account, { newPassword })).json()).errors;
  const refusals = [
    ["short", "too_short"],
    ["password1234", "too_common"],
    ["x".repeat(2_000), "too_big"],
    ["", "too_small"],
    [account.email, "too_guessable"],
  ];
  for (const [password = "", code] of refusals) {
    expect(await errorsOf(password)).toMatchObject([{ pointer: "/newPassword", code }]);
  }
  await withContext({ breaches: async () => true }, async () =>
    expect(await errorsOf(NEW_PASSWORD)).toMatchObject([{ pointer: "/newPassword", code: "breached" }]),
  );
  expect(await logIn(account.email, account.password)).toBe(200);
});

// ASVS 7.4.3
test("a sign-in with the old password that started before the change leaves no session", async () => {
  const account = await newAccount();
  const { compare } = ctx().hasher;
  let isChanged = false;
  const hasher = {
    ...ctx().hasher,
    compare: async (...args: Parameters<typeof compare>) => {
      const isMatch = await compare(...args);
      if (isChanged) return isMatch;
      isChanged = true;
      expect((await change(account)).status).toBe(200);
      return isMatch;
    },
  };
  await withContext({ hasher }, async () => expect(await logIn(account.email, account.password)).toBe(401));
  expect(await ctx().db.session.count({ where: { accountId: account.id, revokedAt: null } })).toBe(1);
});

test("of two concurrent changes one wins", async () => {
  const account = await newAccount();
  const passwords = ["password of the first", "password of the second"];
  const responses = await Promise.all(passwords.map((newPassword) => change(account, { newPassword })));
  const statuses = responses.map(({ status }) => status);
  expect(statuses.sort()).toEqual([200, 401]);
  const logins = await Promise.all(passwords.map((password) => logIn(account.email, password)));
  expect(logins.sort()).toEqual([200, 401]);
});

test("an emailed reset link no longer works after the change", async () => {
  const account = await newAccount();
  const token = await requestReset(account.email);
  await change(account);
  expect((await post("/api/auth/reset/confirm", { token, password: "another new password" })).status).toBe(400);
});

test("ten changes an hour are possible, and another site can make none", async () => {
  const { id, email, password, token } = await newAccount();
  await useUp("passwordChangeByAccount", id, 10);
  expect((await change({ token, password })).status).toBe(429);
  const cookie = await signInToBrowser({ email, password });
  const foreign = { cookie, headers: { origin: "https://evil.example", "sec-fetch-site": "cross-site" } };
  expect((await post(CHANGE, { password, newPassword: NEW_PASSWORD }, foreign)).status).toBe(403);
});
