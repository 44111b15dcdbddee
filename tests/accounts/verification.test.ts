import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { findMaskedEmail } from "@/lib/accounts/email-change/request";
import { readLinkCookie } from "@/lib/platform/http/pages/page-cookies";
import { eventsOf, newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { Jar, SESSION_COOKIE, session, signIn } from "@/tests/support/auth/browser";
import {
  CALLBACK,
  confirm,
  emailedToken,
  newEmail,
  newVerifiedAccount,
  PASSWORD,
  register,
  visibleParts,
  withVerification,
} from "@/tests/support/auth/verification";
import { BASE_URL, ctx, databaseAfter, setUpContext, withContext } from "@/tests/support/context";
import { emailOf, newVerified, requestChange, tokenTo } from "@/tests/support/email-change";
import { mailbox } from "@/tests/support/mailbox";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";

describe("where emails have to be verified", () => {
  setUpContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } });

  test.each(["/api/auth/register", "/api/auth/signup"])(
    // ASVS 6.3.8
    "%s returns the same response whether or not the email has an account",
    async (path) => {
      const known = await newVerifiedAccount();
      const email = newEmail();
      const responses = await Promise.all(
        [known, email].map((email) =>
          post(path, { email, password: PASSWORD }, { headers: { "x-request-id": "same" } }),
        ),
      );
      const [toKnown, toUnknown] = await Promise.all(responses.map(visibleParts));
      expect(toKnown).toEqual(toUnknown);
      expect(toKnown).toMatchObject({ status: 202, body: { status: "verification_required" } });
      expect(await mailbox.waitFor(known, 2)).toContain("You already have an account");
      expect(await mailbox.waitFor(email)).toContain("Confirm your email address");
      expect(responses.flatMap((response) => response.headers.getSetCookie())).toEqual([]);
    },
  );

  test("a registration takes a whole number of steps, so that only its password's hash takes other times", async () => {
    const { hasher } = ctx();
    let hashedAt = 0;
    const hash: typeof hasher.hash = async (...given) => {
      const hashed = await hasher.hash(...given);
      hashedAt = performance.now();
      return hashed;
    };
    for (const email of [await newVerifiedAccount(), newEmail()]) {
      await withContext({ hasher: { ...hasher, hash } }, () => register(email));
      expect(performance.now() - hashedAt).toBeGreaterThan(49); // a timer may be a millisecond early
    }
  });

  test("an unverified account cannot sign in, and only the right password gets the reason", async () => {
    const email = newEmail();
    await register(email);
    await mailbox.waitFor(email);
    expect((await post("/api/auth/login", { email, password: "a wrong password" })).status).toBe(401);
    const login = await post("/api/auth/login", { email, password: PASSWORD });
    expect(login.status).toBe(403);
    expect(await login.json()).toMatchObject({ code: "email_not_verified" });
    const jar = new Jar();
    const form = await signIn(jar, { email, password: PASSWORD });
    expect(form.status).toBe(401);
    expect((await form.json()).url).toBe(`${BASE_URL}/api/auth/error?error=email_not_verified`);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    await confirm(await emailedToken(email, 2));
    expect((await post("/api/auth/login", { email, password: PASSWORD })).status).toBe(200);
  });

  // ASVS 14.2.1
  test("an emailed token is consumed only by a POST, and verifies the email and signs in once", async () => {
    const email = newEmail();
    await register(email);
    const token = await emailedToken(email);
    for (let scan = 0; scan < 3; scan++) {
      const page = await get(`${CALLBACK}?token=${token}`);
      expect([page.status, page.headers.get("location")]).toEqual([302, `${BASE_URL}/verify`]);
      expect(page.headers.getSetCookie()).toEqual([]);
    }
    const jar = new Jar();
    const confirmed = await confirm(token, { jar });
    expect([confirmed.status, confirmed.headers.get("location")]).toEqual([302, `${BASE_URL}/`]);
    expect(await session(jar)).toMatchObject({ user: { email } });
    const account = await ctx().db.account.findUniqueOrThrow({ where: { email } });
    expect(account.emailVerifiedAt).not.toBeNull();
    expect((await eventsOf(account.id)).sort()).toEqual(["email_verified", "registered", "signed_in"]);

    const second = new Jar();
    expect((await confirm(token, { jar: second })).headers.get("location")).toBe(
      `${BASE_URL}/api/auth/error?error=Verification`,
    );
    expect(second.has(SESSION_COOKIE)).toBe(false);
  });

  test("an invalid token is refused without a server error", async () => {
    for (const token of ["", "x", "a".repeat(43), '"><script>alert(1)</script>']) {
      const jar = new Jar();
      expect((await confirm(token, { jar })).status).toBe(302);
      expect(jar.has(SESSION_COOKIE)).toBe(false);
    }
  });

  test("another site cannot submit the confirmation", async () => {
    const email = newEmail();
    await register(email);
    const token = await emailedToken(email);
    for (const origin of ["https://evil.example", "null"]) {
      expect((await confirm(token, { origin })).status).toBe(403);
    }
    expect((await confirm(token)).headers.get("location")).toBe(`${BASE_URL}/`);
  });

  test("only one of two concurrent uses of a link signs in", async () => {
    const email = newEmail();
    await register(email);
    const token = await emailedToken(email);
    const jars = [new Jar(), new Jar()];
    await Promise.all(jars.map((jar) => confirm(token, { jar })));
    expect(jars.filter((jar) => jar.has(SESSION_COOKIE))).toHaveLength(1);
  });
});

test("a password that is changed while the old one confirms the email stays, with its session, and confirms it then", async () => {
  const { email, password, token } = await newAccount();
  expect((await withVerification(() => post("/api/auth/login", { email, password }))).status).toBe(403);
  const link = await emailedToken(email);
  const newPassword = `another ${randomUUID()}`;
  let changed = "";
  const db = databaseAfter(async () => {
    const response = await post("/api/auth/password/change", { password, newPassword }, { token });
    expect(response.status).toBe(200);
    changed = (await response.json()).token;
  });
  const jar = new Jar();
  const refused = await withContext({ db }, () => confirm(link, { password, jar }));
  expect(refused.headers.get("location")).toBe(`${BASE_URL}/api/auth/error?error=Verification`);
  expect([await session(jar), (await get("/api/push/devices", { token: changed })).status]).toEqual([{}, 200]);
  const statusWith = async (tried: string) => (await post("/api/auth/login", { email, password: tried })).status;
  expect([await statusWith(password), await statusWith(newPassword)]).toEqual([401, 200]);
  await confirm(link, { password: newPassword, jar });
  expect(await session(jar)).toMatchObject({ user: { email } });
});

test("an IP address can try ten links within 15 minutes", async () => {
  const attempt = () =>
    call("POST", CALLBACK, {
      ip: "203.0.113.61",
      body: new URLSearchParams({ token: "x", password: "x" }).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", origin: BASE_URL },
    });
  for (let i = 0; i < 10; i++) expect((await attempt()).status).toBe(302);
  expect((await attempt()).status).toBe(429);
});

test("once verification is required, an earlier account keeps its session and confirms its email at the next sign-in", async () => {
  const account = await newAccount();
  await withVerification(async () => {
    expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
    expect((await post("/api/auth/login", account)).status).toBe(403);
    await confirm(await emailedToken(account.email), { password: account.password });
    expect((await post("/api/auth/login", account)).status).toBe(200);
    expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
  });
});

test("a link to a new email that is opened signed out is kept over the sign-in, and says with which email to sign in", async () => {
  const account = await newVerified();
  const email = `new-${randomUUID()}@example.com`;
  await requestChange(account, email);
  const token = await tokenTo(email, "email-change");
  const opened = await submit("email-change/open", { token });
  expect(opened.headers.get("location")).toBe("/email-change");
  expect(cookiesOf(opened)).not.toContain(token);
  const kept = await readLinkCookie(ctx().config, "emailChange", cookiesOf(opened));
  expect(await findMaskedEmail(ctx(), kept ?? "")).toBe(`${account.email[0]}…@example.com`);

  const session = cookiesOf(await submit("sign-in", account, { cookie: cookiesOf(opened) }));
  const changed = await submit("email-change", { token: kept ?? "" }, { cookie: session });
  expect(changed.headers.get("location")).toBe("/account?done=email_changed");
  expect(changed.headers.getSetCookie()).toContainEqual(expect.stringMatching(/^homeport\.email-change=; .*Expires=/));
  expect(await emailOf(account.token)).toBe(email);
  expect(await findMaskedEmail(ctx(), token)).toBeNull();
});

test("a link that does not work is not kept", async () => {
  const response = await submit("email-change/open", { token: "t".repeat(43) });
  expect(flashOf(response)?.message).toBe("This link is no longer valid.");
  expect(cookiesOf(response)).not.toContain("homeport.email-change");
});
