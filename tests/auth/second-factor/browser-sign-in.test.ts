import { describe, expect, test } from "vitest";
import { get, post } from "@/tests/support/api";
import { addAuthenticator, newProtectedAccount } from "@/tests/support/auth/authenticator";
import { Jar, SESSION_COOKIE, session, signIn, signInWith } from "@/tests/support/auth/browser";
import { googlePerson, identitiesOf, markVerified, setUpProviders } from "@/tests/support/auth/providers";
import { confirm, emailedToken, newEmail, register } from "@/tests/support/auth/verification";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { flashOf, submit } from "@/tests/support/web/forms";

const BROWSER = { origin: BASE_URL, "sec-fetch-site": "same-origin" };
const CHALLENGE_COOKIE = "homeport.challenge";

const { google } = await setUpProviders();

/** Gives the code on the page that asks for it. */
async function enterCode(jar: Jar, fields: Record<string, string>): Promise<Response> {
  const response = await submit("sign-in/factor", { kind: "totp", ...fields }, { cookie: jar.header });
  jar.take(response);
  return response;
}

describe("next-auth's sign-in with a password", () => {
  test("names the second factor as its error, and leads to the page that asks for it, without a session", async () => {
    const account = await newProtectedAccount();
    const jar = new Jar();
    const response = await signIn(jar, account);
    expect(response.status).toBe(401);
    const { url } = await response.json();
    expect(url).toMatch(/\/sign-in\/factor\?.*error=second_factor_required$/);
    expect([jar.has(SESSION_COOKIE), jar.has(CHALLENGE_COOKIE)]).toEqual([false, true]);
    expect(await session(jar)).toEqual({});
    expect(response.headers.getSetCookie().find((cookie) => cookie.startsWith(CHALLENGE_COOKIE))).toMatch(
      /^homeport\.challenge=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
  });

  test("is completed by the API with the browser's cookie, from the service's own pages alone", async () => {
    const account = await newProtectedAccount();
    const jar = new Jar();
    await signIn(jar, account);
    const code = account.app.code();
    const send = (headers: Record<string, string>) =>
      post("/api/auth/login/factor", { code }, { cookie: jar.header, headers });
    expect((await send({ origin: "https://evil.example" })).status).toBe(403);
    expect((await send({})).status).toBe(403);
    const response = await send(BROWSER);
    expect(response.status).toBe(200);
    jar.take(response);
    expect(await session(jar)).toMatchObject({ user: { id: account.id } });
  });
});

describe("the sign-in form", () => {
  test("leads to the page for the code, and from there to the page that was asked for", async () => {
    const { email, password, app } = await newProtectedAccount();
    const jar = new Jar();
    const first = await submit("sign-in", { email, password, callbackUrl: "/account/delete" });
    jar.take(first);
    expect(first.headers.get("location")).toBe("/sign-in/factor?callbackUrl=%2Faccount%2Fdelete");
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    const response = await enterCode(jar, { code: app.code(), callbackUrl: "/account/delete" });
    expect([response.status, response.headers.get("location")]).toEqual([303, "/account/delete"]);
    expect([jar.has(SESSION_COOKIE), jar.has(CHALLENGE_COOKIE)]).toEqual([true, false]);
    expect((await get("/api/subscription/status", { cookie: jar.header })).status).toBe(200);
  });

  test("shows a wrong code at its field, and takes a recovery code on the page for those", async () => {
    const { email, password, app, recoveryCodes } = await newProtectedAccount();
    const jar = new Jar();
    jar.take(await submit("sign-in", { email, password }));
    const wrong = await enterCode(jar, { code: app.wrongCode() });
    expect(wrong.headers.get("location")).toMatch(/^\/sign-in\/factor\?formErrors=/);
    expect(flashOf(wrong)?.fields).toEqual({ code: "This code is wrong, used or expired" });
    const unknown = await enterCode(jar, { kind: "recovery_code", code: "not one" });
    expect(unknown.headers.get("location")).toMatch(/^\/sign-in\/factor\?kind=recovery_code&formErrors=/);
    const response = await enterCode(jar, { kind: "recovery_code", code: recoveryCodes[0] ?? "" });
    expect(response.headers.get("location")).toBe("/account");
  });

  test("without its challenge says that the sign-in has expired", async () => {
    const { app } = await newProtectedAccount();
    expect(flashOf(await enterCode(new Jar(), { code: app.code() }))?.message).toBe(
      "This sign-in has expired. Sign in again.",
    );
  });

  test("goes to no other site after the code, except to a trusted origin", async () => {
    const trusted = "https://app.example.com";
    await withContext({ config: { AUTH_TRUSTED_ORIGINS: [trusted] } }, async () => {
      const { email, password, app } = await newProtectedAccount();
      const follow = async (callbackUrl: string) => {
        const jar = new Jar();
        jar.take(await submit("sign-in", { email, password }));
        return enterCode(jar, { code: app.nextCode(), callbackUrl });
      };
      expect((await follow("https://evil.example/")).headers.get("location")).toBe("/account");
      expect((await follow(`${trusted}/home`)).headers.get("refresh")).toBe(`0;url=${trusted}/home`);
    });
  });
});

describe("a sign-in with a provider", () => {
  // ASVS 6.3.3
  test("needs the second factor, too", async () => {
    const account = await newProtectedAccount();
    await markVerified(account.id);
    google.person = googlePerson(account.email);
    const jar = new Jar();
    const url = new URL(await signInWith(google, jar, "/account/delete"));
    expect(url.pathname).toBe("/sign-in/factor");
    expect(new URL(url.searchParams.get("callbackUrl") ?? "", BASE_URL).pathname).toBe("/account/delete");
    expect([jar.has(SESSION_COOKIE), await session(jar)]).toEqual([false, {}]);
    await enterCode(jar, { code: account.app.code() });
    expect(await session(jar)).toMatchObject({ user: { id: account.id } });
    const row = await ctx().db.session.findFirstOrThrow({ where: { accountId: account.id, aal: 2 } });
    expect(row.amr).toEqual(["fed", "otp", "mfa"]);
  });

  test("from a session with a fresh second factor adds the provider without asking for another", async () => {
    const account = await newProtectedAccount();
    const jar = new Jar();
    await signIn(jar, account);
    await enterCode(jar, { code: account.app.code() });
    google.person = googlePerson(account.email);
    expect(await signInWith(google, jar, "/account")).toBe(`${BASE_URL}/account`);
    expect(await identitiesOf(account.id)).toHaveLength(1);
    const rows = await ctx().db.session.findMany({ where: { accountId: account.id, aal: 2, revokedAt: null } });
    expect(rows).toMatchObject([{ amr: ["pwd", "otp", "mfa", "fed"] }]);
  });

  test("from a session whose second factor is ten minutes old needs it again", async () => {
    const account = await newProtectedAccount();
    await markVerified(account.id);
    google.person = googlePerson(account.email);
    const jar = new Jar();
    await signInWith(google, jar);
    await enterCode(jar, { code: account.app.code() });
    clock.advance(10 * 60_000);
    expect(new URL(await signInWith(google, jar)).pathname).toBe("/sign-in/factor");
  });

  test("that takes an unverified account over is not held back by the factor of whoever registered the email", async () => {
    const squatter = await newProtectedAccount();
    google.person = googlePerson(squatter.email);
    const jar = new Jar();
    await signInWith(google, jar, "/account");
    expect(await session(jar)).toMatchObject({ user: { id: squatter.id } });
    expect(await ctx().db.recoveryCode.count({ where: { accountId: squatter.id } })).toBe(0);
  });
});

test("the link that verifies an email signs in to an account with a second factor after the code only", async () => {
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    const email = newEmail();
    await register(email);
    const { id } = await ctx().db.account.findUniqueOrThrow({ where: { email } });
    const { app } = await addAuthenticator(id);
    const jar = new Jar();
    const response = await confirm(await emailedToken(email), { jar });
    expect(new URL(response.headers.get("location") ?? "").pathname).toBe("/sign-in/factor");
    expect([jar.has(SESSION_COOKIE), await session(jar)]).toEqual([false, {}]);
    await enterCode(jar, { code: app.code() });
    expect(await session(jar)).toMatchObject({ user: { email } });
  });
});
