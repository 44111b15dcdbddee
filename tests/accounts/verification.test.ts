import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "@/lib/config";
import { eventsOf, newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { Jar, SESSION_COOKIE, session, signIn, signInWith } from "@/tests/support/auth/browser";
import { IdentityProvider } from "@/tests/support/auth/identity-provider";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const PASSWORD = "a good long password";
const CALLBACK = "/api/auth/callback/email";

let google: IdentityProvider;
beforeAll(async () => {
  google = await IdentityProvider.start("google", BASE_URL);
});
afterAll(() => google.close());

/** Runs with verification required and Google configured. */
const withVerification = <T>(run: () => Promise<T>): Promise<T> => {
  const { AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER } = loadConfig(google.variables);
  return withContext(
    { config: { AUTH_REQUIRE_VERIFIED_EMAIL: true, AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER } },
    run,
  );
};

const newEmail = () => `person-${randomUUID()}@example.com`;
const register = (email: string, password = PASSWORD) => post("/api/auth/register", { email, password });

/** The token in the n-th email to a person. */
async function emailedToken(email: string, n = 1): Promise<string> {
  const message = await mailbox.waitFor(email, n);
  const [, token = ""] = /\/verify#token=([A-Za-z0-9_-]{43})\s/.exec(message) ?? [];
  expect(message).toContain(`${BASE_URL}/verify#token=${token}`);
  return token;
}

/** Everything that a caller can see of a response. */
async function visibleParts(response: Response) {
  const headers = [...response.headers].filter(([name]) => name !== "date");
  return { status: response.status, headers, body: await response.json() };
}

type Confirmation = { password?: string | null; jar?: Jar; origin?: string };

/** Submits the form of the page that an emailed link opens. */
async function confirm(
  token: string,
  { password = PASSWORD, jar = new Jar(), origin = BASE_URL }: Confirmation = {},
): Promise<Response> {
  const response = await call("POST", CALLBACK, {
    cookie: jar.header,
    body: new URLSearchParams(password === null ? { token } : { token, password }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", origin },
  });
  jar.take(response);
  return response;
}

test.each(["/api/auth/register", "/api/auth/signup"])(
  "%s returns the same response whether or not the email has an account",
  async (path) => {
    await withVerification(async () => {
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
    });
  },
);

/** Creates an account and verifies its email. Returns the email. */
async function newVerifiedAccount(): Promise<string> {
  const email = newEmail();
  await register(email);
  await confirm(await emailedToken(email));
  return email;
}

test("an unverified account cannot sign in, and only the right password gets the reason", async () => {
  await withVerification(async () => {
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
});

test("an emailed token is consumed only by a POST, and verifies the email and signs in once", async () => {
  await withVerification(async () => {
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
});

test.each(["", "x", "a".repeat(43), '"><script>alert(1)</script>'])(
  "the invalid token %j is refused without a server error",
  async (token) => {
    await withVerification(async () => {
      const jar = new Jar();
      expect((await confirm(token, { jar })).status).toBe(302);
      expect(jar.has(SESSION_COOKIE)).toBe(false);
    });
  },
);

test("a link expires after a day", async () => {
  await withVerification(async () => {
    const email = newEmail();
    await register(email);
    const token = await emailedToken(email);
    clock.advance(24 * 60 * 60 * 1000 + 1);
    const jar = new Jar();
    await confirm(token, { jar });
    expect(jar.has(SESSION_COOKIE)).toBe(false);
  });
});

test("another site cannot submit the confirmation", async () => {
  await withVerification(async () => {
    const email = newEmail();
    await register(email);
    const token = await emailedToken(email);
    for (const origin of ["https://evil.example", "null"]) {
      expect((await confirm(token, { origin })).status).toBe(403);
    }
    expect((await confirm(token)).headers.get("location")).toBe(`${BASE_URL}/`);
  });
});

test("only one of two concurrent uses of a link signs in", async () => {
  await withVerification(async () => {
    const email = newEmail();
    await register(email);
    const token = await emailedToken(email);
    const jars = [new Jar(), new Jar()];
    await Promise.all(jars.map((jar) => confirm(token, { jar })));
    expect(jars.filter((jar) => jar.has(SESSION_COOKIE))).toHaveLength(1);
  });
});

describe("two registrations of the same email", () => {
  const statusWith = async (email: string, password: string) =>
    (await post("/api/auth/login", { email, password })).status;

  test.each(["first", "second"])(
    "with the %s link, the owner's password confirms the email and the squatter's never does",
    async (which) => {
      await withVerification(async () => {
        const email = newEmail();
        await register(email, "the squatter's password");
        const links = [await emailedToken(email)];
        await register(email, "the owner's password");
        links.push(await emailedToken(email, 2));
        const token = links[which === "first" ? 0 : 1] ?? "";
        const refused = await confirm(token, { password: "neither's password" });
        expect([refused.status, (await refused.json()).code]).toEqual([401, "invalid_credentials"]);
        await confirm(token, { password: "the owner's password" });
        expect(await statusWith(email, "the squatter's password")).toBe(401);
        expect(await statusWith(email, "the owner's password")).toBe(200);
        const late = new Jar();
        for (const link of links) await confirm(link, { password: "the squatter's password", jar: late });
        expect(late.has(SESSION_COOKIE)).toBe(false);
      });
    },
  );

  test("a squatter who uses up the hourly emails does not block the owner's registration", async () => {
    await withVerification(async () => {
      const email = newEmail();
      const registerSquatter = (ip: string) =>
        post("/api/auth/register", { email, password: "the squatter's password" }, { ip });
      for (const network of [1, 2, 3, 4]) {
        for (let i = 0; i < 3; i++) expect((await registerSquatter(`198.51.100.${network}`)).status).toBe(202);
      }
      await mailbox.waitFor(email);
      const password = "the owner's password";
      expect((await post("/api/auth/register", { email, password, name: "The owner" })).status).toBe(202);
      const jar = new Jar();
      expect((await confirm(await emailedToken(email), { password, jar })).status).toBe(302);
      expect(await session(jar)).toMatchObject({ user: { email, name: "The owner" } });
      expect(await statusWith(email, "the squatter's password")).toBe(401);
    });
  });

  test("a squatter's identity is removed when the owner confirms the email with a password", async () => {
    await withVerification(async () => {
      const email = newEmail();
      google.person = { sub: randomUUID(), claims: { email, email_verified: false } };
      expect(await signInWith(google, new Jar())).toContain("email_not_verified");
      const token = await emailedToken(email);
      await register(email, "the owner's password");
      expect((await confirm(token, { password: null })).status).toBe(422);
      expect((await confirm(token, { password: "the owner's password" })).status).toBe(302);
      expect(await ctx().db.identity.count({ where: { account: { email } } })).toBe(0);
      expect(await signInWith(google, new Jar())).toContain("identity_unverified");
    });
  });
});

test("registering the email of an existing account does not change the account", async () => {
  await withVerification(async () => {
    const email = await newVerifiedAccount();
    const before = await ctx().db.account.findUniqueOrThrow({ where: { email } });
    await register(email, "another password");
    await mailbox.waitFor(email, 2);
    expect(await ctx().db.account.findUniqueOrThrow({ where: { email } })).toEqual(before);
    expect((await post("/api/auth/login", { email, password: PASSWORD })).status).toBe(200);
  });
});

test("a password reset also verifies the email", async () => {
  await withVerification(async () => {
    const email = newEmail();
    await register(email);
    const link = await emailedToken(email);
    await post("/api/auth/reset/request", { email });
    const [, token] = /#token=([\w-]+)/.exec(await mailbox.waitFor(email, 2)) ?? [];
    expect((await post("/api/auth/reset/confirm", { token, password: "a new password" })).status).toBe(200);
    expect((await post("/api/auth/login", { email, password: "a new password" })).status).toBe(200);
    const jar = new Jar();
    await confirm(link, { jar });
    expect(jar.has(SESSION_COOKIE)).toBe(false);
  });
});

test("one network can send a person four emails an hour, and the responses stay the same", async () => {
  await withVerification(async () => {
    const email = newEmail();
    const ip = "203.0.113.60";
    const logIn = () => post("/api/auth/login", { email, password: PASSWORD }, { ip });
    expect((await post("/api/auth/register", { email, password: PASSWORD }, { ip })).status).toBe(202);
    await mailbox.waitFor(email);
    for (const count of [2, 3, 4]) {
      expect((await logIn()).status).toBe(403);
      await mailbox.waitFor(email, count);
    }
    expect((await logIn()).status).toBe(403);
    expect((await post("/api/auth/register", { email, password: PASSWORD }, { ip })).status).toBe(202);
    // Emails are sent in order: after a later one to another person, no more can follow.
    const other = newEmail();
    await register(other);
    await mailbox.waitFor(other);
    expect(mailbox.to(email)).toHaveLength(4);
  });
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

test("a provider's unverified email has to be confirmed as well", async () => {
  await withVerification(async () => {
    const email = newEmail();
    google.person = { sub: randomUUID(), claims: { email, email_verified: false } };
    const jar = new Jar();
    expect(await signInWith(google, jar)).toBe(`${BASE_URL}/api/auth/error?error=email_not_verified`);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    const token = await emailedToken(email);
    expect((await confirm(token, { password: null })).status).toBe(422);
    expect((await confirm(token, { password: null, jar })).status).toBe(302);
    expect(await session(jar)).toMatchObject({ user: { email } });
    expect(await signInWith(google, jar)).toBe(`${BASE_URL}/`);
    expect(await session(jar)).toMatchObject({ user: { email } });
  });
});

test("once the email is verified, an earlier link changes nothing", async () => {
  await withVerification(async () => {
    const email = newEmail();
    const sub = randomUUID();
    google.person = { sub, claims: { email, email_verified: false } };
    await signInWith(google, new Jar());
    await mailbox.waitFor(email);
    await register(email, "another password");
    const token = await emailedToken(email, 2);
    google.person = { sub, claims: { email, email_verified: true, hd: "example.com" } };
    expect(await signInWith(google, new Jar())).toBe(`${BASE_URL}/`);
    const jar = new Jar();
    await confirm(token, { jar });
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    expect((await post("/api/auth/login", { email, password: "another password" })).status).toBe(401);
  });
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
