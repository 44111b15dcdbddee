import * as client from "openid-client";
import { describe, expect, test } from "vitest";
import { listSecurityEvents } from "@/lib/platform/audit/list-events";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { newProtectedAccount } from "@/tests/support/auth/authenticator";
import { decide, postOAuth, REDIRECT_URI, signInToBrowser } from "@/tests/support/auth/oauth-client";
import { addPasskey, signInOptions, stepUpOptions } from "@/tests/support/auth/passkeys";
import { BASE_URL, clock, ctx } from "@/tests/support/context";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";

const MINUTE_MS = 60_000;
const VERIFIER = "a-code-verifier-of-forty-three-characters-or-more";
const REAUTHENTICATE = "/api/auth/reauthenticate";

const remove = ({ password, token }: TestAccount) =>
  post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });
const sessionOf = ({ sessionId }: TestAccount) => ctx().db.session.findUniqueOrThrow({ where: { id: sessionId } });

/** Signs an app in through a browser. Returns its access token. */
async function appSession(cookie: string): Promise<string> {
  const request = {
    client_id: "desktop",
    redirect_uri: REDIRECT_URI,
    response_type: "code",
    code_challenge: await client.calculatePKCECodeChallenge(VERIFIER),
    code_challenge_method: "S256",
  };
  const url = new URL(`/api/auth/oauth/authorize?${new URLSearchParams(request)}`, BASE_URL);
  const code = (await decide(url, { cookie })).searchParams.get("code") ?? "";
  const exchange = { grant_type: "authorization_code", client_id: "desktop", redirect_uri: REDIRECT_URI };
  return tokenOf(await postOAuth("token", { ...exchange, code, code_verifier: VERIFIER }));
}

/** Signs a device in with a code that the browser allows. Returns its access token. */
async function deviceSession(cookie: string, choice: { operator?: string } = {}): Promise<string> {
  const started = await (await postOAuth("device", { client_id: "cli" })).json();
  await submit("device", { user_code: started.user_code, decision: "allow", ...choice }, { cookie });
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  return tokenOf(await postOAuth("token", { grant_type, client_id: "cli", device_code: started.device_code }));
}

const tokenOf = async (response: Response) => ((await response.json()) as { access_token: string }).access_token;

/** An account whose session is older than ten minutes. */
async function staleAccount(): Promise<TestAccount> {
  const account = await newAccount();
  clock.advance(11 * MINUTE_MS);
  return account;
}

describe("POST /api/auth/reauthenticate", () => {
  // ASVS 16.3.1
  test("makes the session's authentication recent, and is in the audit trail", async () => {
    const account = await staleAccount();
    const at = ctx().now();
    const response = await post(REAUTHENTICATE, { password: account.password }, { token: account.token });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ aal: 1, amr: ["pwd"] });
    expect((await sessionOf(account)).authenticatedAt.getTime()).toBeGreaterThanOrEqual(at.getTime());
    expect(await eventsOf(account.id)).toEqual(["registered", "reauthenticated"]);
    const details = (await listSecurityEvents(ctx(), account.id, 2)).map((event) => event.details);
    expect(details).toEqual([{ amr: ["pwd"] }, { amr: ["pwd"] }]);
  });

  test("requires a proof even after a recent sign-in, and names the field that would do", async () => {
    const { token } = await newAccount();
    const refused = await post(REAUTHENTICATE, {}, { token });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      code: "reauthentication_required",
      errors: [{ pointer: "/password", code: "required" }],
    });
    expect((await post(REAUTHENTICATE, { password: "x" })).status).toBe(401);
  });

  test("refuses a wrong password, leaves the session as old as it was, and counts attempts with those of a deletion", async () => {
    const account = await staleAccount();
    const before = await sessionOf(account);
    const guess = () => post(REAUTHENTICATE, { password: "a wrong one" }, { token: account.token });
    for (let i = 0; i < 10; i++) expect((await guess()).status).toBe(403);
    expect((await sessionOf(account)).authenticatedAt).toEqual(before.authenticatedAt);
    expect((await guess()).status).toBe(429);
    expect((await remove(account)).status).toBe(429);
  });

  test("cannot help an account without a password, which has to sign in again", async () => {
    const { id, token } = await newAccount();
    await ctx().db.account.update({ where: { id }, data: { passwordHash: null } });
    const body = await (await post(REAUTHENTICATE, { password: "anything" }, { token })).json();
    expect(body).toMatchObject({ code: "reauthentication_required" });
    expect(body.errors).toBeUndefined();
  });
});

describe("the form of /confirm", () => {
  test("goes on to the page that required it, on this service alone", async () => {
    const { token, password } = await newAccount();
    const cookie = `next-auth.session-token=${token}`;
    const next = async (callbackUrl: string) =>
      (await submit("confirm", { password, callbackUrl }, { cookie })).headers.get("location");
    expect(await next("/account/delete?x=1")).toBe("/account/delete?x=1");
    expect(await next("https://evil.example/account")).toBe("/account");
    expect(await next("//evil.example")).toBe("/account");
  });

  test("shows a wrong password at its field, and keeps the page to go on to", async () => {
    const { token } = await newAccount();
    const cookie = `next-auth.session-token=${token}`;
    const refused = await submit("confirm", { password: "a wrong one", callbackUrl: "/account/delete" }, { cookie });
    expect(refused.headers.get("location")).toMatch(/^\/confirm\?callbackUrl=%2Faccount%2Fdelete&formErrors=/);
    expect(flashOf(refused)?.fields).toEqual({ password: "This is not your password" });
    expect(cookiesOf(refused)).toContain("homeport.form=");
  });
});

describe("a session that another one allows", () => {
  test.each([
    ["an authorization code is as old as that one, so that a stolen session cannot get a fresh one", appSession, 11],
    ["a device code is not recent, because somebody else may hold the device", deviceSession, 0],
    // ASVS 7.5.3
  ] as const)("gets no recent authentication by %s", async (_, allow, minutes) => {
    const account = await newAccount();
    const cookie = await signInToBrowser(account);
    clock.advance(minutes * MINUTE_MS);
    const token = await allow(cookie);
    expect((await get("/api/subscription/status", { token })).status).toBe(200);
    expect((await get("/api/auth/account/export", { token })).status).toBe(403);
    expect((await post(REAUTHENTICATE, { password: account.password }, { token })).status).toBe(200);
    expect((await get("/api/auth/account/export", { token })).status).toBe(200);
  });

  test("by a device code is at level 1, and needs a factor to rise, whatever the level of that one", async () => {
    const account = await newProtectedAccount();
    await ctx().db.session.update({ where: { id: account.sessionId }, data: { aal: 2 } });
    const token = await deviceSession(`next-auth.session-token=${account.token}`);
    const proved = async (proof: object) => (await post(REAUTHENTICATE, proof, { token })).json();
    expect(await proved({ password: account.password })).toMatchObject({ code: "reauthentication_required" });
    expect(await proved({ code: account.app.code() })).toMatchObject({ aal: 2 });
  });

  test("by a device code has an operator's rights only if the operator gives them after a recent sign-in", async () => {
    const admin = await accountWithRole("admin");
    const cookie = await signInToBrowser(admin);
    const statusOf = async (token: string) => (await get("/api/admin/keys", { token })).status;
    const plain = await deviceSession(cookie);
    expect([await statusOf(plain), (await get("/api/subscription/status", { token: plain })).status]).toEqual([
      403, 200,
    ]);
    const page = await get("/api/auth/session", { cookie: `next-auth.session-token=${plain}` });
    expect(await page.json()).toMatchObject({ user: { role: "user" } });
    expect(await statusOf(await deviceSession(cookie, { operator: "on" }))).toBe(200);
    clock.advance(11 * MINUTE_MS);
    const started = await (await postOAuth("device", { client_id: "cli" })).json();
    const decision = { user_code: started.user_code, decision: "allow", operator: "on" };
    const stale = await submit("device", decision, { cookie });
    expect(stale.headers.get("location")).toMatch(/^\/confirm\?callbackUrl=%2Fdevice/);
    const user = await signInToBrowser(await newAccount());
    expect(flashOf(await submit("device", decision, { cookie: user }))?.message).toMatch(/role|allowed/i);
  });
});

test("a deletion requires the password also after a recent sign-in", async () => {
  const account = await newAccount();
  expect((await remove({ ...account, password: "a wrong one" })).status).toBe(403);
  expect((await get("/api/subscription/status", { token: account.token })).status).toBe(200);
  expect((await remove(account)).status).toBe(200);
});

describe("a passkey", () => {
  const prove = async ({ token }: TestAccount, passkey: object) => post(REAUTHENTICATE, { passkey }, { token });

  test("makes the session recent, at level 2, also without a password", async () => {
    const account = await newAccount();
    const { authenticator } = await addPasskey(account);
    await ctx().db.account.update({ where: { id: account.id }, data: { passwordHash: null } });
    clock.advance(11 * MINUTE_MS);
    const refused = await (await post("/api/auth/passkeys/options", {}, { token: account.token })).json();
    expect(refused.errors).toMatchObject([{ pointer: "/passkey", code: "required" }]);
    const response = await prove(account, authenticator.get(await stepUpOptions(account)));
    expect(await response.json()).toMatchObject({ aal: 2, amr: ["pwd", "swk", "user", "mfa"] });
    expect((await post("/api/auth/passkeys/options", {}, { token: account.token })).status).toBe(200);
    expect((await eventsOf(account.id)).at(-1)).toBe("reauthenticated");
  });

  test("of another account, or over a challenge of another purpose, proves nothing", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const { authenticator } = await addPasskey(bob);
    await addPasskey(ann);
    const options = await stepUpOptions(bob);
    for (const { challenge } of [await stepUpOptions(ann), await signInOptions()]) {
      const refused = await prove(bob, authenticator.get({ ...options, challenge }));
      expect([refused.status, (await refused.json()).reason]).toEqual([422, "challenge_invalid"]);
    }
    const stolen = await prove(ann, authenticator.get({ ...options, challenge: (await stepUpOptions(ann)).challenge }));
    expect((await stolen.json()).reason).toBe("credential_unknown");
    const unverified = await prove(bob, authenticator.get(options, { isUserVerified: false }));
    expect((await unverified.json()).reason).toBe("user_not_verified");
  });

  test("does not delete an account that has a password", async () => {
    const account = await newAccount();
    const { authenticator } = await addPasskey(account);
    const passkey = authenticator.get(await stepUpOptions(account));
    const { token } = account;
    const refused = await post("/api/auth/account/delete", { confirm: "DELETE", passkey }, { token });
    expect((await refused.json()).errors).toMatchObject([{ pointer: "/password" }]);
  });
});

describe("an account with a second factor", () => {
  const reauthenticate = ({ token }: TestAccount, proof: object) => post(REAUTHENTICATE, proof, { token });
  const exportData = ({ token }: TestAccount) => get("/api/auth/account/export", { token });

  // ASVS 7.5.3
  test("proves that factor, and its password is no proof", async () => {
    const account = await newProtectedAccount();
    const refused = await reauthenticate(account, { password: account.password });
    expect(refused.status).toBe(403);
    const { errors } = await refused.json();
    expect(errors).toMatchObject([{ pointer: "/code" }, { pointer: "/recoveryCode" }]);
    const proved = await reauthenticate(account, { code: account.app.nextCode() });
    expect(await proved.json()).toMatchObject({ aal: 2, amr: ["pwd", "otp", "mfa"] });
    expect((await sessionOf(account)).aal).toBe(2);
  });

  test("has to prove it in a session that is recent and older than the factor", async () => {
    const account = await newProtectedAccount();
    expect((await exportData(account)).status).toBe(403);
    await reauthenticate(account, { code: account.app.nextCode() });
    expect((await exportData(account)).status).toBe(200);
    clock.advance(11 * MINUTE_MS);
    expect((await exportData(account)).status).toBe(403);
  });

  test("can prove it by a recovery code, once", async () => {
    const account = await newProtectedAccount();
    const [recoveryCode] = account.recoveryCodes;
    expect(await (await reauthenticate(account, { recoveryCode })).json()).toMatchObject({ aal: 2 });
    const again = await reauthenticate(account, { recoveryCode });
    expect(again.status).toBe(403);
    expect((await again.json()).errors).toMatchObject([{ pointer: "/recoveryCode", code: "incorrect" }]);
  });

  test("is deleted with its password and that factor, and with neither alone", async () => {
    const account = await newProtectedAccount();
    const { password, token } = account;
    const attempt = (proof: object) => post("/api/auth/account/delete", { confirm: "DELETE", ...proof }, { token });
    expect((await (await attempt({ password })).json()).errors).toMatchObject([
      { pointer: "/code" },
      { pointer: "/recoveryCode" },
    ]);
    expect((await (await attempt({ code: account.app.nextCode() })).json()).errors).toMatchObject([
      { pointer: "/password" },
    ]);
    expect((await attempt({ password, code: account.app.nextCode() })).status).toBe(200);
  });

  test("keeps the age of its factor when only the password is proved", async () => {
    const account = await newProtectedAccount();
    await reauthenticate(account, { code: account.app.nextCode() });
    const { authenticatedAt } = await sessionOf(account);
    clock.advance(MINUTE_MS);
    const { token, password } = account;
    const body = { confirm: "DELETE", password: "a wrong one" };
    expect((await post("/api/auth/account/delete", body, { token })).status).toBe(403);
    await submit("account/unlink", { identityId: "none", password }, { cookie: `next-auth.session-token=${token}` });
    expect((await sessionOf(account)).authenticatedAt).toEqual(authenticatedAt);
  });
});
