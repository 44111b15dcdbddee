import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { Jar, SESSION_COOKIE, session, signInWith } from "@/tests/support/auth/browser";
import { setUpProviders } from "@/tests/support/auth/providers";
import {
  confirm,
  emailedToken,
  newEmail,
  newVerifiedAccount,
  PASSWORD,
  register,
} from "@/tests/support/auth/verification";
import { BASE_URL, ctx, databaseAfter, setUpContext, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const { google } = await setUpProviders();
setUpContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } });

describe("two registrations of the same email", () => {
  const statusWith = async (email: string, password: string) =>
    (await post("/api/auth/login", { email, password })).status;

  test.each(["first", "second"])(
    // ASVS 6.3.4
    "with the %s link, the owner's password confirms the email and the squatter's never does",
    async (which) => {
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
    },
  );

  test("a squatter who uses up the hourly emails does not block the owner's registration", async () => {
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

  // ASVS 6.3.4
  test("a squatter's identity is removed when the owner confirms the email with a password", async () => {
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

test("registering the email of an existing account does not change the account", async () => {
  const email = await newVerifiedAccount();
  const before = await ctx().db.account.findUniqueOrThrow({ where: { email } });
  await register(email, "another password");
  await mailbox.waitFor(email, 2);
  expect(await ctx().db.account.findUniqueOrThrow({ where: { email } })).toEqual(before);
  expect((await post("/api/auth/login", { email, password: PASSWORD })).status).toBe(200);
});

test("a provider's unverified email has to be confirmed as well", async () => {
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

describe("a provider's identity that an operator unlinks while it confirms the email", () => {
  /** Confirms the email in the browser of the provider's user, with a database that has them unlinked in between. */
  const confirmUnlinked = async (databaseWith: (unlink: () => Promise<unknown>) => Context["db"]) => {
    const email = newEmail();
    google.person = { sub: randomUUID(), claims: { email, email_verified: false } };
    const jar = new Jar();
    await signInWith(google, jar);
    const token = await emailedToken(email);
    const { id } = await ctx().db.account.findUniqueOrThrow({ where: { email } });
    const withoutVerification = { config: { AUTH_REQUIRE_VERIFIED_EMAIL: false } };
    const { token: admin } = await withContext(withoutVerification, () => accountWithRole("admin"));
    const db = databaseWith(async () => {
      const response = await post(`/api/admin/accounts/${id}/unlink`, { provider: "google" }, { token: admin });
      expect(response.status).toBe(200);
    });
    await withContext({ db }, () => confirm(token, { password: null, jar }));
    expect(await ctx().db.identity.count({ where: { accountId: id } })).toBe(0);
    expect(await session(jar)).toEqual({});
    return ctx().db.account.findUniqueOrThrow({ where: { id }, include: { sessions: true } });
  };

  test("confirms nothing", async () => {
    const account = await confirmUnlinked((unlink) => databaseAfter(unlink));
    expect(account).toMatchObject({ emailVerifiedAt: null, sessions: [] });
  });

  test("gives no session after that", async () => {
    const account = await confirmUnlinked((unlink) => {
      const pending = [unlink];
      const findUniqueOrThrow = async <A, R>({ args, query }: { args: A; query: (args: A) => Promise<R> }) => {
        await pending.pop()?.();
        return query(args);
      };
      return ctx().db.$extends({ query: { account: { findUniqueOrThrow } } }) as unknown as Context["db"];
    });
    expect(account).toMatchObject({ emailVerifiedAt: expect.any(Date), sessions: [] });
  });
});

test("once the email is verified, an earlier link changes nothing", async () => {
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
