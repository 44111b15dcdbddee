import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "@/lib/config";
import { newAccount } from "../support/accounts";
import { call, get, post } from "../support/api";
import { Jar, SESSION_COOKIE, session, signIn, signInWith } from "../support/browser";
import { BASE_URL, clock, ctx, withContext } from "../support/context";
import { IdentityProvider } from "../support/identity-provider";
import { mailbox } from "../support/mailbox";

const PASSWORD = "a good long password";
const CALLBACK = "/api/auth/callback/email";

let google: IdentityProvider;
beforeAll(async () => {
  google = await IdentityProvider.start("google", BASE_URL);
});
afterAll(() => google.close());

/** The service as it is where addresses have to be verified. */
const verifying = <T>(run: () => Promise<T>): Promise<T> => {
  const { AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER } = loadConfig(google.variables);
  return withContext(
    { config: { AUTH_REQUIRE_VERIFIED_EMAIL: true, AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER } },
    run,
  );
};

const newEmail = () => `person-${randomUUID()}@example.com`;
const register = (email: string, password = PASSWORD) => post("/api/auth/register", { email, password });

/** The token in the n-th mail to an address. */
async function mailedToken(email: string, n = 1): Promise<string> {
  const mail = await mailbox.waitFor(email, n);
  const [, token = ""] = /\/verify#token=([A-Za-z0-9_-]{43})\s/.exec(mail) ?? [];
  expect(mail).toContain(`${BASE_URL}/verify#token=${token}`);
  return token;
}

/** All that an answer tells. */
async function told(response: Response) {
  const headers = [...response.headers].filter(([name]) => name !== "date");
  return { status: response.status, headers, body: await response.json() };
}

/** Presses the button of the page behind a mailed link. */
async function confirm(token: string, jar = new Jar(), origin = BASE_URL): Promise<Response> {
  const response = await call("POST", CALLBACK, {
    body: new URLSearchParams({ token }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", origin },
  });
  jar.take(response);
  return response;
}

test.each(["/api/auth/register", "/api/auth/signup"])(
  "%s answers alike whether the address is known or not",
  async (path) => {
    await verifying(async () => {
      const known = await newVerifiedAccount();
      const email = newEmail();
      const answers = await Promise.all(
        [known, email].map((email) =>
          post(path, { email, password: PASSWORD }, { headers: { "x-request-id": "same" } }),
        ),
      );
      const [toKnown, toUnknown] = await Promise.all(answers.map(told));
      expect(toKnown).toEqual(toUnknown);
      expect(toKnown).toMatchObject({ status: 202, body: { status: "verification_required" } });
      expect(await mailbox.waitFor(known, 2)).toContain("You have an account already");
      expect(await mailbox.waitFor(email)).toContain("Confirm your e-mail address");
      expect(answers.flatMap((response) => response.headers.getSetCookie())).toEqual([]);
    });
  },
);

/** Somebody whose address is verified, by the first mail to it. Returns it. */
async function newVerifiedAccount(): Promise<string> {
  const email = newEmail();
  await register(email);
  await confirm(await mailedToken(email));
  return email;
}

test("nobody signs in before the address is confirmed, and only a right password is told why", async () => {
  await verifying(async () => {
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
    await confirm(await mailedToken(email, 2));
    expect((await post("/api/auth/login", { email, password: PASSWORD })).status).toBe(200);
  });
});

test("a mailed token is used up by a button alone, and verifies and signs in, once", async () => {
  await verifying(async () => {
    const email = newEmail();
    await register(email);
    const token = await mailedToken(email);
    for (let scan = 0; scan < 3; scan++) {
      const page = await get(`${CALLBACK}?token=${token}`);
      expect([page.status, page.headers.get("location")]).toEqual([302, `${BASE_URL}/verify`]);
      expect(page.headers.getSetCookie()).toEqual([]);
    }
    const jar = new Jar();
    const confirmed = await confirm(token, jar);
    expect([confirmed.status, confirmed.headers.get("location")]).toEqual([302, `${BASE_URL}/`]);
    expect(await session(jar)).toMatchObject({ user: { email } });
    const account = await ctx().db.account.findUniqueOrThrow({ where: { email }, include: { securityEvents: true } });
    expect(account.emailVerifiedAt).not.toBeNull();
    expect(account.securityEvents.map(({ type }) => type).sort()).toEqual([
      "email_verified",
      "registered",
      "signed_in",
    ]);

    const again = new Jar();
    expect((await confirm(token, again)).headers.get("location")).toBe(`${BASE_URL}/api/auth/error?error=Verification`);
    expect(again.has(SESSION_COOKIE)).toBe(false);
  });
});

test.each(["", "x", "a".repeat(43), '"><script>alert(1)</script>'])("%j is no token, and no error", async (token) => {
  await verifying(async () => {
    const jar = new Jar();
    expect((await confirm(token, jar)).status).toBe(302);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
  });
});

test("a link is good for a day", async () => {
  await verifying(async () => {
    const email = newEmail();
    await register(email);
    const token = await mailedToken(email);
    clock.advance(24 * 60 * 60 * 1000 + 1);
    const jar = new Jar();
    await confirm(token, jar);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
  });
});

test("another site cannot press the button", async () => {
  await verifying(async () => {
    const email = newEmail();
    await register(email);
    const token = await mailedToken(email);
    for (const origin of ["https://evil.example", "null"]) {
      expect((await confirm(token, new Jar(), origin)).status).toBe(403);
    }
    expect((await confirm(token)).headers.get("location")).toBe(`${BASE_URL}/`);
  });
});

test("of two uses of one link at the same moment one wins", async () => {
  await verifying(async () => {
    const email = newEmail();
    await register(email);
    const token = await mailedToken(email);
    const jars = [new Jar(), new Jar()];
    await Promise.all(jars.map((jar) => confirm(token, jar)));
    expect(jars.filter((jar) => jar.has(SESSION_COOKIE))).toHaveLength(1);
  });
});

test("of two who register one address, its owner's password is the one whose link was followed", async () => {
  await verifying(async () => {
    const email = newEmail();
    await register(email, "the squatter's password");
    const squatters = await mailedToken(email);
    await register(email, "the owner's password");
    await confirm(await mailedToken(email, 2));
    const statusWith = async (password: string) => (await post("/api/auth/login", { email, password })).status;
    expect(await statusWith("the squatter's password")).toBe(401);
    expect(await statusWith("the owner's password")).toBe(200);
    const jar = new Jar();
    await confirm(squatters, jar);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    expect(await statusWith("the owner's password")).toBe(200);
  });
});

test("two registrations that wait for one mail are both in it, each with a link of its own", async () => {
  await verifying(async () => {
    const email = newEmail();
    const { mails } = ctx();
    await withContext({ mails: { ...mails, wake: () => {} } }, async () => {
      await register(email, "the squatter's password");
      await register(email, "the owner's password");
    });
    mails.wake();
    const links = [...(await mailbox.waitFor(email)).matchAll(/UTC\s+\S+token=([\w-]{43})\s/g)].map(
      ([, token]) => token,
    );
    expect(links).toHaveLength(2);
    await confirm(links[0] ?? "");
    expect((await post("/api/auth/login", { email, password: "the squatter's password" })).status).toBe(401);
    expect((await post("/api/auth/login", { email, password: "the owner's password" })).status).toBe(200);
  });
});

test("registering an address that has an account changes nothing of it", async () => {
  await verifying(async () => {
    const email = await newVerifiedAccount();
    const before = await ctx().db.account.findUniqueOrThrow({ where: { email } });
    await register(email, "another password");
    await mailbox.waitFor(email, 2);
    expect(await ctx().db.account.findUniqueOrThrow({ where: { email } })).toEqual(before);
    expect((await post("/api/auth/login", { email, password: PASSWORD })).status).toBe(200);
  });
});

test("a reset of the password proves the address as well", async () => {
  await verifying(async () => {
    const email = newEmail();
    await register(email);
    const link = await mailedToken(email);
    await post("/api/auth/reset/request", { email });
    const [, token] = /#token=([\w-]+)/.exec(await mailbox.waitFor(email, 2)) ?? [];
    expect((await post("/api/auth/reset/confirm", { token, password: "a new password" })).status).toBe(200);
    expect((await post("/api/auth/login", { email, password: "a new password" })).status).toBe(200);
    const jar = new Jar();
    await confirm(link, jar);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
  });
});

test("an address gets three mails within an hour, and the answers stay the same", async () => {
  await verifying(async () => {
    const email = newEmail();
    await register(email);
    await mailbox.waitFor(email);
    for (const mails of [2, 3]) {
      expect((await post("/api/auth/login", { email, password: PASSWORD })).status).toBe(403);
      await mailbox.waitFor(email, mails);
    }
    expect((await post("/api/auth/login", { email, password: PASSWORD })).status).toBe(403);
    expect((await register(email)).status).toBe(202);
    // A later mail to somebody else has overtaken whatever was still to come.
    const other = newEmail();
    await register(other);
    await mailbox.waitFor(other);
    expect(mailbox.to(email)).toHaveLength(3);
  });
});

test("a provider's unverified address has to be confirmed as well", async () => {
  await verifying(async () => {
    const email = newEmail();
    google.person = { sub: randomUUID(), claims: { email, email_verified: false } };
    const jar = new Jar();
    expect(await signInWith(google, jar)).toBe(`${BASE_URL}/api/auth/error?error=email_not_verified`);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    await confirm(await mailedToken(email));
    expect(await signInWith(google, jar)).toBe(`${BASE_URL}/`);
    expect(await session(jar)).toMatchObject({ user: { email } });
  });
});

test("once the address is proven, a link that was mailed before changes nothing", async () => {
  await verifying(async () => {
    const email = newEmail();
    const sub = randomUUID();
    google.person = { sub, claims: { email, email_verified: false } };
    await signInWith(google, new Jar());
    await mailbox.waitFor(email);
    await register(email, "another password");
    const token = await mailedToken(email, 2);
    google.person = { sub, claims: { email, email_verified: true, hd: "example.com" } };
    expect(await signInWith(google, new Jar())).toBe(`${BASE_URL}/`);
    const jar = new Jar();
    await confirm(token, jar);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    expect((await post("/api/auth/login", { email, password: "another password" })).status).toBe(401);
  });
});

test("an account of before addresses had to be verified keeps its session, and confirms at the next sign-in", async () => {
  const account = await newAccount();
  await verifying(async () => {
    expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
    expect((await post("/api/auth/login", account)).status).toBe(403);
    await confirm(await mailedToken(account.email));
    expect((await post("/api/auth/login", account)).status).toBe(200);
    expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
  });
});
