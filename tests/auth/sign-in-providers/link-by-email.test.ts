import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import type { Context } from "@/lib/context";
import { newAccount, requestReset } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { addAuthenticator } from "@/tests/support/auth/authenticator";
import { Jar, SESSION_COOKIE, session, signIn, signInWith } from "@/tests/support/auth/browser";
import { IdentityProvider } from "@/tests/support/auth/identity-provider";
import {
  applePerson,
  errorOf,
  gitHubPerson,
  googlePerson,
  identitiesOf,
  markVerified,
  newEmail,
  setUpProviders,
} from "@/tests/support/auth/providers";
import { BASE_URL, ctx, withContext } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { mailbox } from "@/tests/support/mailbox";

const { google, apple, github, withProviders } = await setUpProviders();

test("if both the provider and the account have verified the email, the identity is linked and the password stays", async () => {
  const account = await newAccount();
  await markVerified(account.id);
  google.person = googlePerson(account.email);
  const jar = new Jar();
  expect(await signInWith(google, jar)).toBe(`${BASE_URL}/`);
  expect(await session(jar)).toMatchObject({ user: { id: account.id } });
  expect((await post("/api/auth/login", account)).status).toBe(200);
  expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
  const message = await mailbox.waitFor(account.email);
  expect(message).toContain(`You can now sign in to your account (${account.email}) with Google`);
  expect(message).not.toContain("no password");
});

/** An account whose email nobody has verified, signed in and linked to a GitHub account. */
async function newSquatter() {
  const squatter = await newAccount();
  const jar = new Jar();
  await signIn(jar, squatter);
  github.person = gitHubPerson(newEmail());
  await signInWith(github, jar);
  return { squatter, jar };
}

test("an earlier registration that never verified the email loses all access", async () => {
  const { squatter, jar } = await newSquatter();
  expect(await identitiesOf(squatter.id)).toHaveLength(1);
  await requestReset(squatter.email);

  google.person = googlePerson(squatter.email);
  const owner = new Jar();
  await signInWith(google, owner);
  expect(await session(owner)).toMatchObject({ user: { id: squatter.id } });
  expect((await post("/api/auth/login", squatter)).status).toBe(401);
  expect((await get("/api/push/devices", { token: squatter.token })).status).toBe(401);
  expect(await session(jar)).toEqual({});
  expect(await identitiesOf(squatter.id)).toMatchObject([{ provider: "google" }]);
  expect(await ctx().db.passwordResetToken.count({ where: { accountId: squatter.id } })).toBe(0);
  await expect.poll(() => mailbox.to(squatter.email).join()).toContain("Your account has no password");
  const returning = new Jar();
  await signInWith(github, returning);
  expect(await session(returning)).not.toMatchObject({ user: { id: squatter.id } });
});

test.runIf(postgresUrl)(
  "an account that is verified while a provider signs in keeps its authenticator app",
  async () => {
    const account = await newAccount();
    await addAuthenticator(account.id);
    const where = { email: account.email };
    const findUnique = async <A, R>({ args, query }: { args: A; query: (args: A) => Promise<R> }) => {
      const read = await query(args);
      if (isDeepStrictEqual(args, { where })) await markVerified(account.id);
      return read;
    };
    const db = ctx().db.$extends({ query: { account: { findUnique } } }) as unknown as Context["db"];
    google.person = googlePerson(account.email);
    const location = await withContext({ db }, () => signInWith(google, new Jar()));
    expect(errorOf(location)).toBe("second_factor_required");
    expect(await identitiesOf(account.id)).toMatchObject([{ provider: "google" }]);
    expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
  },
);

test("a reset that verifies the email removes the identities that were linked before", async () => {
  const { squatter } = await newSquatter();
  const token = await requestReset(squatter.email);
  await post("/api/auth/reset/confirm", { token, password: "the owner's password" });
  expect(await identitiesOf(squatter.id)).toEqual([]);
});

test.each([
  ["the provider has not verified", { email_verified: false }],
  ["the provider returns without email_verified", { email_verified: undefined }],
  ["Google verified once but does not host", { hd: undefined }],
  // ASVS 6.8.1
])("an email that %s is linked to no account", async (_, claims) => {
  const account = await newAccount();
  await markVerified(account.id);
  google.person = googlePerson(account.email, claims);
  const jar = new Jar();
  const location = await signInWith(google, jar);
  expect(errorOf(location)).toBe("identity_unverified");
  expect(jar.has(SESSION_COOKIE)).toBe(false);
  expect(await identitiesOf(account.id)).toEqual([]);
});

test.each([
  ["Apple", () => apple, applePerson],
  ["GitHub", () => github, gitHubPerson],
] as const)(
  "an email that %s verified once, but does not host, is linked to no account",
  async (_, provider, personWith) => {
    for (const isVerified of [true, false]) {
      const account = await newAccount();
      if (isVerified) await markVerified(account.id);
      provider().person = personWith(account.email);
      const jar = new Jar();
      expect(errorOf(await signInWith(provider(), jar))).toBe("identity_unverified");
      expect(jar.has(SESSION_COOKIE)).toBe(false);
      expect(await identitiesOf(account.id)).toEqual([]);
      expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
    }
  },
);

test.each(["icloud.com", "privaterelay.appleid.com"])("an email at Apple's own domain %s is linked", async (domain) => {
  const account = await newAccount({ email: `person-${randomUUID()}@${domain}` });
  await markVerified(account.id);
  apple.person = applePerson(account.email);
  const jar = new Jar();
  await signInWith(apple, jar);
  expect(await session(jar)).toMatchObject({ user: { id: account.id } });
});

// ASVS 6.8.1
test("the same subject of another issuer is another identity, even of the same provider", async () => {
  const enterprise = await IdentityProvider.start("github", BASE_URL);
  onTestFinished(() => enterprise.close());
  github.person = gitHubPerson(newEmail());
  const jar = new Jar();
  await signInWith(github, jar);
  const [owner, sub] = [await session(jar), github.person.sub];
  await withProviders(enterprise.variables, async () => {
    enterprise.person = { ...gitHubPerson(newEmail()), sub };
    const other = new Jar();
    await signInWith(enterprise, other);
    expect(await session(other)).not.toMatchObject({ user: { id: owner.user.id } });
  });
  const second = new Jar();
  await signInWith(github, second);
  expect(await session(second)).toMatchObject({ user: { id: owner.user.id } });
});

test("GitHub's public email is ignored, and its primary email is used only if verified", async () => {
  const account = await newAccount();
  await markVerified(account.id);
  const { email } = account;
  github.person = { ...gitHubPerson(email), emails: [{ email, primary: true, verified: false }] };
  github.person.claims.email = email;
  expect(errorOf(await signInWith(github, new Jar()))).toBe("identity_without_email");
  expect(await identitiesOf(account.id)).toEqual([]);
});

test("an identity without a valid email creates no account", async () => {
  for (const email of [undefined, "x", "a@b@example.com", `${"l".repeat(65)}@example.com`]) {
    google.person = googlePerson(email as string);
    expect(errorOf(await signInWith(google, new Jar()))).toBe("identity_without_email");
  }
});

// ASVS 1.3.3
test("a user's name from a provider is shortened, and characters that PostgreSQL cannot store are replaced", async () => {
  const email = newEmail();
  google.person = googlePerson(email, { name: `\0${"𝒜".repeat(100)}\ud800`, picture: "javascript:alert(1)" });
  await signInWith(google, new Jar());
  const account = await ctx().db.account.findUniqueOrThrow({ where: { email } });
  expect(account).toMatchObject({ name: `\ufffd${"𝒜".repeat(79)}`, image: null });
});
