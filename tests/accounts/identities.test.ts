import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeOldFiles } from "@/lib/adapters/outbox-folder";
import { removeExpiredRows } from "@/lib/auth/retention";
import { loadConfig } from "@/lib/config";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { Jar, SESSION_COOKIE, session, signIn, signInWith } from "@/tests/support/auth/browser";
import { IdentityProvider } from "@/tests/support/auth/identity-provider";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { submit, wordsOf } from "@/tests/support/web/forms";

const DAY_MS = 24 * 60 * 60 * 1000;
let google: IdentityProvider;

beforeAll(async () => {
  google = await IdentityProvider.start("google", BASE_URL);
});
afterAll(() => google.close());

/** The service with Google connected, and changes to its configuration. */
function connected<T>(run: () => Promise<T>, change: Partial<ReturnType<typeof loadConfig>> = {}): Promise<T> {
  const { AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER } = loadConfig(google.variables);
  return withContext({ config: { AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER, ...change } }, run);
}

const newPerson = (claims: object = {}) => ({
  sub: randomUUID(),
  claims: { email: `person-${randomUUID()}@example.com`, email_verified: true, hd: "example.com", ...claims },
});

/** Links Google to an account in a browser of its own. Returns the browser and the identity. */
async function linkGoogle(account: TestAccount): Promise<{ jar: Jar; identityId: string }> {
  const jar = new Jar();
  await signIn(jar, account);
  google.person = newPerson();
  await signInWith(google, jar);
  const { id } = await ctx().db.identity.findFirstOrThrow({ where: { accountId: account.id } });
  return { jar, identityId: id };
}

const identitiesOf = (accountId: string) => ctx().db.identity.count({ where: { accountId } });

test("a linked provider is removed by the password; it signs in no more, and the other sessions end", async () => {
  await connected(async () => {
    const account = await newAccount();
    const { jar, identityId } = await linkGoogle(account);
    const wrong = wordsOf(
      await submit("account/unlink", { identityId, password: "a wrong one" }, { cookie: jar.header }),
    );
    expect(wrong?.fields).toEqual({ password: "This is not your password" });
    expect(await identitiesOf(account.id)).toBe(1);

    const removed = await submit("account/unlink", { identityId, password: account.password }, { cookie: jar.header });
    expect(removed.headers.get("location")).toBe("/account?done=identity_unlinked");
    expect(await identitiesOf(account.id)).toBe(0);
    expect(await session(jar)).toMatchObject({ user: { id: account.id } });
    expect((await get("/api/push/devices", { token: account.token })).status).toBe(401);
    expect(await eventsOf(account.id)).toContain("identity_unlinked");
    const told = () => mailbox.to(account.email).some((mail) => mail.includes("provider was removed"));
    await expect.poll(told).toBe(true);
    const stranger = new Jar();
    await signInWith(google, stranger);
    expect(await session(stranger)).not.toMatchObject({ user: { id: account.id } });
  });
});

test("the only way to sign in cannot be removed, not by two requests at once either", async () => {
  await connected(async () => {
    google.person = newPerson();
    const jar = new Jar();
    await signInWith(google, jar);
    const { user } = await session(jar);
    const [only] = await ctx().db.identity.findMany({ where: { accountId: user.id } });
    const refused = await submit("account/unlink", { identityId: only?.id ?? "" }, { cookie: jar.header });
    expect(wordsOf(refused)?.message).toBe("This is the account's only way to sign in.");

    google.person = newPerson();
    await signInWith(google, jar);
    const both = await ctx().db.identity.findMany({ where: { accountId: user.id } });
    expect(both).toHaveLength(2);
    await Promise.all(both.map(({ id }) => submit("account/unlink", { identityId: id }, { cookie: jar.header })));
    expect(await identitiesOf(user.id)).toBe(1);
  });
});

test("without a password a provider is removed by a sign-in of the last ten minutes, and the form says so above it", async () => {
  await connected(async () => {
    const jar = new Jar();
    for (const person of [newPerson(), newPerson()]) {
      google.person = person;
      await signInWith(google, jar);
    }
    const { user } = await session(jar);
    const { id: identityId } = await ctx().db.identity.findFirstOrThrow({ where: { accountId: user.id } });
    clock.advance(10 * 60_000 + 1);
    const refused = wordsOf(await submit("account/unlink", { identityId }, { cookie: jar.header }));
    expect([refused?.message, refused?.fields]).toEqual(["Sign in again to continue.", {}]);
    expect(await identitiesOf(user.id)).toBe(2);
    await signInWith(google, jar);
    await submit("account/unlink", { identityId }, { cookie: jar.header });
    expect(await identitiesOf(user.id)).toBe(1);
  });
});

test("an identity that a version without issuers linked goes on signing in, whatever issuer is configured", async () => {
  await connected(async () => {
    const account = await newAccount();
    const { identityId } = await linkGoogle(account);
    await ctx().db.identity.update({ where: { id: identityId }, data: { issuer: null } });
    const jar = new Jar();
    await signInWith(google, jar);
    expect(await session(jar)).toMatchObject({ user: { id: account.id } });
    const { issuer } = await ctx().db.identity.findUniqueOrThrow({ where: { id: identityId } });
    expect(issuer).toBe(ctx().config.AUTH_GOOGLE_ISSUER);
  });
});

test("somebody else's provider cannot be removed", async () => {
  await connected(async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const { identityId } = await linkGoogle(ann);
    const jar = new Jar();
    await signIn(jar, bob);
    const refused = await submit("account/unlink", { identityId, password: bob.password }, { cookie: jar.header });
    expect(wordsOf(refused)?.message).toBe("This provider is not linked to your account.");
    expect(await identitiesOf(ann.id)).toBe(1);
    expect((await get("/api/push/devices", { token: bob.token })).status).toBe(200);
  });
});

test("a reset names the providers that still sign in: in its response, by its form, and by mail", async () => {
  await connected(async () => {
    const account = await newAccount();
    await ctx().db.account.update({ where: { id: account.id }, data: { emailVerifiedAt: ctx().now() } });
    await linkGoogle(account);
    const ask = async (n: number) => {
      await post("/api/auth/reset/request", { email: account.email });
      await expect.poll(() => tokensIn(account.email).length).toBe(n);
      return tokensIn(account.email)[n - 1] ?? "";
    };
    const response = await post("/api/auth/reset/confirm", { token: await ask(1), password: "a new good password" });
    expect(await response.json()).toEqual({
      status: "password_reset",
      identities: [{ provider: "google", linkedAt: expect.stringMatching(/Z$/) }],
    });
    const told = () => mailbox.to(account.email).some((mail) => /can still sign in[\s\S]*- Google, since/.test(mail));
    await expect.poll(told).toBe(true);
    const form = await submit("reset", { token: await ask(2), password: "another new password" });
    expect(form.headers.get("location")).toBe("/sign-in?done=password_reset&linked=google");
  });
});

const tokensIn = (email: string) => mailbox.to(email).flatMap((mail) => /\/reset#token=(\S+)/.exec(mail)?.[1] ?? []);

test("an account whose address had to be verified, and was not, goes after a week; one with a live link stays", async () => {
  await connected(
    async () => {
      const emails = ["old", "asked again"].map((name) => `${name.replace(" ", "-")}-${randomUUID()}@example.com`);
      const [old = "", asked = ""] = emails;
      const register = (email: string) => post("/api/auth/register", { email, password: "a good long password" });
      for (const email of emails) expect((await register(email)).status).toBe(202);
      google.person = newPerson({ hd: undefined });
      const jar = new Jar();
      await signInWith(google, jar);
      expect(jar.has(SESSION_COOKIE)).toBe(false);
      const unproven = String(google.person.claims.email);
      const exists = async (email: string) => (await ctx().db.account.count({ where: { email } })) === 1;

      clock.advance(6.9 * DAY_MS);
      await register(asked);
      await removeExpiredRows(ctx());
      expect([await exists(old), await exists(asked), await exists(unproven)]).toEqual([true, true, true]);
      clock.advance(0.2 * DAY_MS);
      await removeExpiredRows(ctx());
      expect([await exists(old), await exists(asked), await exists(unproven)]).toEqual([false, true, false]);
      clock.advance(DAY_MS);
      await removeExpiredRows(ctx());
      expect(await exists(asked)).toBe(false);
    },
    { AUTH_REQUIRE_VERIFIED_EMAIL: true },
  );
});

test("an unverified account stays once somebody has signed in to it, and where nobody had to verify it", async () => {
  const [usual, waiting] = [
    await newAccount(),
    { email: `w-${randomUUID()}@example.com`, password: "a good long one" },
  ];
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    expect((await post("/api/auth/register", waiting)).status).toBe(202);
  });
  expect((await post("/api/auth/login", waiting)).status).toBe(200); // verification was switched off
  clock.advance(100 * DAY_MS);
  await removeExpiredRows(ctx());
  const where = { email: { in: [usual.email, waiting.email] } };
  expect(await ctx().db.account.count({ where })).toBe(2);
});

test("mails and notifications in files are removed after their time, and nothing else in the folder", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "outbox-"));
  const old = new Date(Date.now() - 8 * DAY_MS);
  for (const name of ["old.eml", "old.eml.tmp", "old.push.json", "old.txt", "new.eml"]) {
    await writeFile(path.join(folder, name), "");
    if (name.startsWith("old")) await utimes(path.join(folder, name), old, old);
  }
  expect(await removeOldFiles(folder, new Date(Date.now() - 7 * DAY_MS))).toBe(3);
  expect((await readdir(folder)).sort()).toEqual(["new.eml", "old.txt"]);
  expect(await removeOldFiles(path.join(folder, "none"), new Date())).toBe(0);
});
