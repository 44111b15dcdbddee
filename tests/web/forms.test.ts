import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readFlash } from "@/lib/platform/http/pages/flash";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { setUpProviders } from "@/tests/support/auth/providers";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { registeredDevice } from "@/tests/support/push/push";
import { cookiesOf, flashOf, submit, submitByScript } from "@/tests/support/web/forms";

await setUpProviders();

const PASSWORD = "a password for forms";

const newEmail = () => `form-${randomUUID()}@example.com`;

/** Signs in by the form. Returns the session cookie. */
async function signIn({ email, password }: Pick<TestAccount, "email" | "password">): Promise<string> {
  return cookiesOf(await submit("sign-in", { email, password }));
}

const statusOf = async (cookie: string) => (await get("/api/subscription/status", { cookie })).status;

describe("a form without JavaScript", () => {
  test("creates an account and signs in", async () => {
    const response = await submit("register", { email: newEmail(), password: PASSWORD, name: "" });
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toBe("/account");
    expect(await statusOf(cookiesOf(response))).toBe(200);
  });

  // ASVS 14.3.3
  test("is shown again with its errors and its input, but never with a password", async () => {
    const fields = { email: "nobody", name: "Ann", password: PASSWORD };
    const response = await submit("register", fields);
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toMatch(/^\/register\?formErrors=[\w-]+$/);
    expect(flashOf(response)).toMatchObject({
      form: "/forms/register",
      fields: { email: "Must be an email address" },
      values: { email: "nobody", name: "Ann" },
    });
    expect(JSON.stringify(flashOf(response))).not.toContain(PASSWORD);
    const [cookie = ""] = response.headers.getSetCookie();
    expect(cookie).toMatch(/; Path=\/; Max-Age=60; HttpOnly; SameSite=Lax$/);
  });

  test("shows at the field that an email is taken, and that a password is wrong", async () => {
    const { email } = await newAccount();
    const taken = flashOf(await submit("register", { email, password: PASSWORD }));
    expect(taken?.fields).toEqual({ email: "An account with this email already exists" });
    const wrong = flashOf(await submit("sign-in", { email, password: "not the password" }));
    expect(wrong?.fields).toEqual({ password: "The email or password is incorrect" });
  });

  // ASVS 3.3.5
  test("with a far too long name has its error in a cookie that a browser accepts", async () => {
    const response = await submit("register", { email: newEmail(), password: PASSWORD, name: "n".repeat(10_000) });
    expect(flashOf(response)?.fields).toEqual({ name: "Must be at most 80 characters long" });
    expect(cookiesOf(response).length).toBeLessThan(4_000);
  });
});

describe("a form sent by script", () => {
  test("gets the URL to go to", async () => {
    const response = await submitByScript("register", { email: newEmail(), password: PASSWORD });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ location: "/account" });
    expect(await statusOf(cookiesOf(response))).toBe(200);
  });

  test("gets the API's problem document, in words for people", async () => {
    const response = await submitByScript("register", { email: newEmail(), password: "short" });
    expect(response.status).toBe(422);
    const { code, errors } = (await response.json()) as { code: string; errors: unknown };
    expect(code).toBe("validation_failed");
    expect(errors).toEqual([{ pointer: "/password", code: "too_short", detail: "Must be at least 8 characters long" }]);
  });
});

describe("a form does not", () => {
  test("accept a cross-origin request", async () => {
    const response = await submit("sign-in", await newAccount(), { headers: { origin: "https://evil.example" } });
    expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
  });

  test.each([
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "/..//evil.example",
    "javascript:alert(1)",
    "http://[",
    "\thttps://evil.example",
    `blob:${BASE_URL}/account`,
    // ASVS 1.2.2
  ])("send anybody to %j", async (callbackUrl) => {
    const { email, password } = await newAccount();
    expect((await submit("sign-in", { email, password, callbackUrl })).headers.get("location")).toBe("/account");
  });

  test("lose the app on a trusted origin that the user came from", async () => {
    const trusted = "https://app.example.com";
    await withContext({ config: { AUTH_TRUSTED_ORIGINS: [trusted] } }, async () => {
      const { email, password } = await newAccount();
      const follow = (callbackUrl: string) => submit("sign-in", { email, password, callbackUrl });
      expect((await follow(`${trusted}/home?a=1`)).headers.get("refresh")).toBe(`0;url=${trusted}/home?a=1`);
      for (const stranger of [
        "https://app.example.com.evil.example/",
        "http://app.example.com/",
        `${trusted}:444/`,
        `blob:${trusted}/`,
      ]) {
        expect((await follow(stranger)).headers.get("location")).toBe("/account");
      }
    });
  });

  // ASVS 15.3.6
  test("fail on a body that is not a form", async () => {
    const headers = { "content-type": "application/json", origin: BASE_URL };
    expect((await call("POST", "/forms/sign-in", { body: "{}", headers })).status).toBe(415);
    for (const body of ["", "%", "a=%00", "email=%ED%A0%80", "=&=&", "__proto__=1&constructor=2"]) {
      const type = { "content-type": "application/x-www-form-urlencoded", origin: BASE_URL };
      expect((await call("POST", "/forms/sign-in", { body, headers: type })).status).toBe(303);
    }
    expect((await submit("sign-in", { email: "x".repeat(20_000) })).status).toBe(413);
  });

  test("exist at any other path", async () => {
    for (const path of ["nothing", "sign-in/nothing", "console", "console/nothing", "console/revokeApiKey/nothing"]) {
      const responses = [await get(`/forms/${path}`), await submit(path, {})];
      expect(responses.map(({ status }) => status)).toEqual([404, 404]);
    }
  });
});

// ASVS 3.3.1, 3.3.2, 3.3.3
test("over https a rejected form's cookie is bound to the host: another host of the domain cannot set it", async () => {
  const config = { baseUrl: "https://api.example.com" };
  await withContext({ config }, async () => {
    const headers = { origin: config.baseUrl };
    const refused = await submit("sign-in", { email: "ann@example.com", password: "wrong" }, { headers });
    const [line = ""] = refused.headers.getSetCookie();
    expect(line).toMatch(/^__Host-homeport\.form=[\w-]+; Path=\/; Max-Age=60; HttpOnly; SameSite=Lax; Secure$/);
    const location = new URL(refused.headers.get("location") ?? "", config.baseUrl);
    const id = location.searchParams.get("formErrors") ?? "";
    const cookie = cookiesOf(refused);
    expect(readFlash(config, cookie, id)?.form).toBe("/forms/sign-in");
    expect(readFlash(config, cookie.replace("__Host-", ""), id)).toBeNull();
  });
});

test("sign-in by form and by API share one limit, and the form shows how long to wait", async () => {
  const { email, password } = await newAccount();
  const from = { ip: "203.0.113.80" };
  for (let i = 0; i < 10; i++) await submit("sign-in", { email, password: "not the password" }, from);
  expect((await post("/api/auth/login", { email, password }, from)).status).toBe(429);
  expect(flashOf(await submit("sign-in", { email, password }, from))?.message).toMatch(
    /^Too many wrong passwords\. Reset the password to sign in now\. Try again in (a minute|\d+ minutes)\.$/,
  );
});

test("signing out by the form ends the session, once", async () => {
  const account = await newAccount();
  const cookie = await signIn(account);
  const response = await submit("sign-out", {}, { cookie });
  expect(response.headers.get("location")).toBe("/sign-in?done=signed_out");
  expect(response.headers.getSetCookie()[0]).toMatch(/^next-auth\.session-token=; .*Expires=Thu, 01 Jan 1970/);
  expect(await statusOf(cookie)).toBe(401);
  const again = await submit("sign-out", {}, { cookie });
  expect(again.headers.get("location")).toBe("/sign-in?callbackUrl=%2Faccount&error=SessionRequired");
  const events = await ctx().db.auditEvent.findMany({ where: { accountId: account.id, type: "signed_out" } });
  expect(events).toHaveLength(1);
});

test("a reset by the form accepts the whole emailed link, and only once", async () => {
  const { email, token } = await newAccount();
  expect((await submit("forgot", { email })).headers.get("location")).toBe("/forgot?sent");
  const [link = ""] = /http\S+\/reset#token=\S+/.exec(await mailbox.waitFor(email)) ?? [];
  const fields = { token: ` ${link} `, password: "another good password" };
  expect((await submit("reset", fields)).headers.get("location")).toBe("/sign-in?done=password_reset");
  expect((await get("/api/subscription/status", { token })).status).toBe(401);
  expect(flashOf(await submit("reset", fields))?.message).toBe("This link is no longer valid. Request a new one.");
});

// ASVS 7.5.2
test("signing out other sessions requires a recent authentication, which the next page asks for", async () => {
  const account = await newAccount();
  const here = await signIn(account);
  clock.advance(11 * 60_000);
  for (const [form, fields] of [
    ["account/session", { id: account.sessionId }],
    ["account/other-sessions", {}],
  ] as [string, Record<string, string>][]) {
    const response = await submit(form, fields, { cookie: here });
    expect(response.headers.get("location")).toBe("/confirm?callbackUrl=%2Faccount");
  }
  expect((await get("/api/subscription/status", { token: account.token })).status).toBe(200);
  await submit("confirm", { password: account.password, callbackUrl: "/account" }, { cookie: here });
  await submit("account/other-sessions", {}, { cookie: here });
  expect((await get("/api/subscription/status", { token: account.token })).status).toBe(401);
});

// ASVS 7.5.2, 10.4.9, 10.7.3
test("signing out one session keeps the others, and signing out all others keeps this one", async () => {
  const account = await newAccount();
  const [here, there, elsewhere] = [await signIn(account), await signIn(account), await signIn(account)];
  const sessions = await ctx().db.session.findMany({ where: { accountId: account.id }, orderBy: { createdAt: "asc" } });
  const [, , second] = sessions; // the first is the token of the registration
  expect((await submit("account/session", { id: second?.id ?? "" }, { cookie: here })).headers.get("location")).toBe(
    "/account?done=session_ended",
  );
  expect([await statusOf(here), await statusOf(there), await statusOf(elsewhere)]).toEqual([200, 401, 200]);
  await submit("account/other-sessions", {}, { cookie: here });
  expect([await statusOf(here), await statusOf(elsewhere)]).toEqual([200, 401]);
  expect((await get("/api/subscription/status", { token: account.token })).status).toBe(401);
});

// ASVS 8.2.2
test("no account can sign out another's session or remove its device", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const cookie = await signIn(bob);
  const { device } = await registeredDevice(ann);
  expect(flashOf(await submit("account/session", { id: ann.sessionId }, { cookie }))?.message).toBe(
    "This session has already ended.",
  );
  expect(flashOf(await submit("account/device", { id: device.id }, { cookie }))?.message).toBe("Device not found.");
  expect((await get("/api/subscription/status", { token: ann.token })).status).toBe(200);
  const { devices } = (await (await get("/api/push/devices", { token: ann.token })).json()) as { devices: unknown[] };
  expect(devices).toHaveLength(1);
});

test.each(["sign-out", "account/session", "account/other-sessions", "account/device", "account/delete"])(
  "/forms/%s redirects a signed-out user to the sign-in page",
  async (form) => {
    const response = await submit(form, { id: randomUUID(), confirm: "DELETE" });
    expect(response.headers.get("location")).toMatch(/^\/sign-in\?callbackUrl=%2Faccount(%2Fdelete)?&error=Session/);
    const byScript = await submitByScript(form, { id: randomUUID(), confirm: "DELETE" });
    expect(((await byScript.json()) as { location: string }).location).toMatch(/^\/sign-in/);
  },
);

test("an account is deleted with its password and the word DELETE, not with only one of them", async () => {
  const account = await newAccount();
  const cookie = await signIn(account);
  const wrong = flashOf(await submit("account/delete", { confirm: "DELETE", password: "nonsense" }, { cookie }));
  expect(wrong?.fields).toEqual({ password: "This is not your password" });
  const unsure = flashOf(await submit("account/delete", { confirm: "yes", password: account.password }, { cookie }));
  expect(unsure?.fields).toEqual({ confirm: "Must be DELETE" });
  const done = await submit("account/delete", { confirm: "DELETE", password: account.password }, { cookie });
  expect(done.headers.get("location")).toBe("/deleted");
  expect(done.headers.getSetCookie()[0]).toMatch(/^next-auth\.session-token=; /);
  expect((await post("/api/auth/login", account)).status).toBe(401);
});

describe("a form of a page that was opened for another account", () => {
  const TEXT = "You have signed in with another account meanwhile. Reload the page.";
  const AUTHORIZATION = {
    response_type: "code",
    client_id: "desktop",
    redirect_uri: "http://127.0.0.1:1234/callback",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    decision: "allow",
  };

  test.each<[string, Record<string, string>, string]>([
    ["account/delete", { confirm: "DELETE" }, "/deleted"],
    ["account/name", { name: "Ann Example" }, "/account?done=name_set"],
    ["authorize", AUTHORIZATION, "http://127.0.0.1:1234/callback"],
  ])("/forms/%s changes nothing", async (form, given, next) => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const cookie = await signIn(bob);
    const fields = { ...given, password: bob.password };
    const before = await ctx().db.account.findUniqueOrThrow({ where: { id: bob.id } });
    const refused = await submitByScript(form, { ...fields, signedInAs: ann.id }, { cookie });
    expect([refused.status, await refused.json()]).toMatchObject([409, { code: "account_changed", detail: TEXT }]);
    const flash = flashOf(await submit(form, { ...fields, signedInAs: ann.id }, { cookie }));
    expect(flash).toMatchObject({ message: TEXT, values: {} });
    expect(await ctx().db.account.findUniqueOrThrow({ where: { id: bob.id } })).toEqual(before);
    expect(await ctx().db.authorizationCode.count({ where: { accountId: bob.id } })).toBe(0);
    const sent = await submit(form, { ...fields, signedInAs: bob.id }, { cookie });
    expect(sent.headers.get("location") ?? sent.headers.get("refresh")).toContain(next);
  });

  test("signs out, and adds no provider", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const cookie = await signIn(bob);
    const added = await submitByScript("provider", { provider: "google", signedInAs: ann.id }, { cookie });
    expect(await added.json()).toMatchObject({ code: "account_changed" });
    const response = await submit("sign-out", { signedInAs: ann.id }, { cookie });
    expect(response.headers.get("location")).toBe("/sign-in?done=signed_out");
  });
});

// ASVS 7.2.4
test("signing in again, or making another account, by the form ends the session whose cookie is replaced", async () => {
  const account = await newAccount();
  const first = cookiesOf(await submit("sign-in", account));
  const second = cookiesOf(await submit("sign-in", account, { cookie: first }));
  expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
  const third = cookiesOf(await submit("register", { email: newEmail(), password: PASSWORD }, { cookie: second }));
  expect([await statusOf(second), await statusOf(third)]).toEqual([401, 200]);
});

test("with required verification, the forms register, confirm by the pasted link and sign in", async () => {
  const before = cookiesOf(await submit("sign-in", await newAccount()));
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    const email = newEmail();
    const registered = await submit("register", { email, password: PASSWORD });
    expect(registered.headers.get("location")).toMatch(/^\/verify\?registered=[\w-]+$/);
    expect(cookiesOf(registered)).toMatch(/^homeport\.form=[\w-]+$/); // the email, for the button that sends it again
    const early = flashOf(await submit("sign-in", { email, password: PASSWORD }));
    expect(early?.message).toBe("Verify your email first. We have sent you a link.");
    const [link = ""] = /http\S+\/verify#token=\S+/.exec(await mailbox.waitFor(email)) ?? [];
    const wrong = flashOf(await submit("verify", { token: link, password: "another password" }));
    expect(wrong?.fields).toEqual({ password: "This is not the password you registered with" });
    const confirmed = await submit("verify", { token: link, password: PASSWORD }, { cookie: before });
    expect(confirmed.headers.get("location")).toBe("/account?done=email_verified");
    expect([await statusOf(before), await statusOf(cookiesOf(confirmed))]).toEqual([401, 200]);
    const again = flashOf(await submit("verify", { token: link, password: PASSWORD }));
    expect(again?.message).toBe("This link is no longer valid. Sign in to get a new one.");
  });
});

describe("with a provider", () => {
  test("the form redirects to the provider in a way that no form-action policy blocks", async () => {
    const posted = await submit("provider", { provider: "google" });
    expect(posted.status).toBe(200);
    expect(posted.headers.get("refresh")).toMatch(/^0;url=https?:\/\/\S+\/authorize\?\S*code_challenge=/);
    expect(cookiesOf(posted)).toMatch(/next-auth\.state=/);
    const byScript = await submitByScript("provider", { provider: "google" });
    const { location } = (await byScript.json()) as { location: string };
    expect(new URL(location).searchParams.get("redirect_uri")).toBe(`${BASE_URL}/api/auth/callback/google`);
  });

  test("an unconfigured provider and any other sign-in method are rejected", async () => {
    for (const provider of ["gitlab", "credentials", "email", "../csrf"]) {
      expect(flashOf(await submit("provider", { provider }))?.message).toBe("Not found.");
    }
  });
});
