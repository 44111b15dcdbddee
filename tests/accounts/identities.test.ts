import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import type { Context } from "@/lib/context";
import { removeOldFiles } from "@/lib/platform/adapters/file-transports";
import { eventsOf, newAccount, requestReset, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { addAuthenticator, challengeOf, meet } from "@/tests/support/auth/authenticator";
import {
  followCallback,
  Jar,
  SESSION_COOKIE,
  session,
  signIn,
  signInWith,
  startProvider,
} from "@/tests/support/auth/browser";
import { googlePerson, newEmail, setUpProviders } from "@/tests/support/auth/providers";
import { clock, ctx, withContext } from "@/tests/support/context";
import { changeTo, newVerified } from "@/tests/support/email-change";
import { mailbox } from "@/tests/support/mailbox";
import { flashOf, submit } from "@/tests/support/web/forms";

const DAY_MS = 24 * 60 * 60 * 1000;
const { google } = await setUpProviders();

const newPerson = (claims: object = {}) => googlePerson(newEmail(), claims);

/** Links Google to an account in a new browser. Returns the browser and the identity. */
async function linkGoogle(account: TestAccount): Promise<{ jar: Jar; identityId: string }> {
  const jar = new Jar();
  await signIn(jar, account);
  google.person = newPerson();
  await signInWith(google, jar);
  const { id } = await ctx().db.identity.findFirstOrThrow({ where: { accountId: account.id } });
  return { jar, identityId: id };
}

const identitiesOf = (accountId: string) => ctx().db.identity.count({ where: { accountId } });

// ASVS 7.4.3, 7.5.1
test("the password removes a linked provider, which can no longer sign in, and ends the other sessions", async () => {
  const account = await newAccount();
  const { jar, identityId } = await linkGoogle(account);
  const wrong = flashOf(
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
  const isNotified = () => mailbox.to(account.email).some((message) => message.includes("Google was removed"));
  await expect.poll(isNotified).toBe(true);
  const stranger = new Jar();
  await signInWith(google, stranger);
  expect(await session(stranger)).not.toMatchObject({ user: { id: account.id } });
});

test("a sign-in by a provider that waits for its second factor ends when the provider is removed", async () => {
  const account = await newAccount();
  const { identityId } = await linkGoogle(account);
  const { app } = await addAuthenticator(account.id);
  const elsewhere = new Jar();
  await signInWith(google, elsewhere);
  const { token } = account;
  const proof = await post("/api/auth/reauthenticate", { code: app.code() }, { token });
  expect(proof.status).toBe(200);
  expect((await call("DELETE", `/api/auth/identities/${identityId}`, { token })).status).toBe(204);
  const code = app.nextCode();
  const waiting = await meet(elsewhere.get("homeport.challenge") ?? "", { code });
  expect([waiting.status, (await waiting.json()).code]).toEqual([401, "invalid_challenge"]);
  expect((await meet(await challengeOf(account), { code })).status).toBe(200);
});

type Query<A, R> = { args: A; query: (args: A) => Promise<R> };

/** The database, where `run`, another request, is done before the second factors of a sign-in are read. */
function databaseBeforeFactors(run: () => Promise<unknown>): Context["db"] {
  const pending = [run];
  const findFirst = async <A, R>({ args, query }: Query<A, R>) => {
    await pending.pop()?.();
    return query(args);
  };
  return ctx().db.$extends({ query: { totpFactor: { findFirst } } }) as unknown as Context["db"];
}

/** The database, where `run`, another request, is done after next-auth has read the account of a sign-in that is admitted. */
function databaseAfterIdentity(run: () => Promise<unknown>): Context["db"] {
  const pending = [run, async () => {}]; // next-auth reads it before it asks whether to admit the sign-in, too
  const findUnique = async <A extends { include?: unknown }, R>({ args, query }: Query<A, R>) => {
    const read = await query(args);
    if (args.include) await pending.pop()?.();
    return read;
  };
  return ctx().db.$extends({ query: { identity: { findUnique } } }) as unknown as Context["db"];
}

describe("a provider that is removed while it signs in", () => {
  const removing = async (account: TestAccount) => {
    const { identityId } = await linkGoogle(account);
    const { token } = account;
    return async () => {
      expect((await call("DELETE", `/api/auth/identities/${identityId}`, { token })).status).toBe(204);
    };
  };

  test("gives no session", async () => {
    const account = await newAccount();
    const db = databaseAfterIdentity(await removing(account));
    const elsewhere = new Jar();
    const callback = await google.approve(await startProvider(google, elsewhere));
    await withContext({ db }, () => followCallback(elsewhere, callback));
    expect(await session(elsewhere)).toEqual({});
    const live = { accountId: account.id, revokedAt: null };
    expect(await ctx().db.session.findMany({ where: live })).toMatchObject([{ id: account.sessionId }]);
  });

  test("gives no challenge for a second factor", async () => {
    const account = await newAccount();
    const remove = await removing(account);
    const { app } = await addAuthenticator(account.id);
    const proof = await post("/api/auth/reauthenticate", { code: app.code() }, { token: account.token });
    expect(proof.status).toBe(200);
    const db = databaseBeforeFactors(remove);
    const elsewhere = new Jar();
    const callback = await google.approve(await startProvider(google, elsewhere));
    const refused = await withContext({ db }, () => followCallback(elsewhere, callback));
    expect(refused.headers.get("location")).toContain("error=invalid_credentials");
    expect(await ctx().db.signInChallenge.count({ where: { accountId: account.id } })).toBe(0);
  });
});

test("the API lists the linked providers, and removes one of the account's own after a recent sign-in", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  const { identityId } = await linkGoogle(account);
  const unlink = async (id: string, token?: string) => call("DELETE", `/api/auth/identities/${id}`, { token });
  const list = async (token: string) => (await (await get("/api/auth/identities", { token })).json()).identities;
  expect(await list(account.token)).toEqual([
    { id: identityId, provider: "google", linkedAt: expect.stringMatching(/Z$/) },
  ]);
  expect((await get("/api/auth/identities")).status).toBe(401);
  const statuses = [];
  for (const token of [undefined, stranger.token]) statuses.push((await unlink(identityId, token)).status);
  for (const id of [randomUUID(), "x"]) statuses.push((await unlink(id, account.token)).status);
  expect(statuses).toEqual([401, 404, 404, 404]);
  clock.advance(11 * 60_000);
  const refused = await unlink(identityId, account.token);
  expect([refused.status, (await refused.json()).code]).toEqual([403, "reauthentication_required"]);
  const confirmed = await post("/api/auth/reauthenticate", { password: account.password }, { token: account.token });
  expect(confirmed.status).toBe(200);
  expect((await unlink(identityId, account.token)).status).toBe(204);
  expect(await list(account.token)).toEqual([]);
});

test("after a change of email, a provider is linked by the new one, and creates no account with the old one", async () => {
  const [account, email] = [await newVerified(), `new-${randomUUID()}@example.com`];
  await changeTo(account, email);
  const jar = new Jar();
  google.person = newPerson({ email: account.email });
  expect(await signInWith(google, jar)).toContain("error=email_taken");
  google.person = newPerson({ email });
  await signInWith(google, jar);
  expect(await session(jar)).toMatchObject({ user: { id: account.id, email } });
});

test("the only way to sign in cannot be removed, not even by concurrent requests", async () => {
  google.person = newPerson();
  const jar = new Jar();
  await signInWith(google, jar);
  const { user } = await session(jar);
  const [only] = await ctx().db.identity.findMany({ where: { accountId: user.id } });
  const refused = await submit("account/unlink", { identityId: only?.id ?? "" }, { cookie: jar.header });
  expect(flashOf(refused)?.message).toBe("This is the account's only way to sign in.");

  google.person = newPerson();
  await signInWith(google, jar);
  const both = await ctx().db.identity.findMany({ where: { accountId: user.id } });
  expect(both).toHaveLength(2);
  await Promise.all(both.map(({ id }) => submit("account/unlink", { identityId: id }, { cookie: jar.header })));
  expect(await identitiesOf(user.id)).toBe(1);
});

test("without a password, removing a provider requires a sign-in within ten minutes, which the form's message says", async () => {
  const jar = new Jar();
  for (const person of [newPerson(), newPerson()]) {
    google.person = person;
    await signInWith(google, jar);
  }
  const { user } = await session(jar);
  const { id: identityId } = await ctx().db.identity.findFirstOrThrow({ where: { accountId: user.id } });
  clock.advance(10 * 60_000 + 1);
  const refused = flashOf(await submit("account/unlink", { identityId }, { cookie: jar.header }));
  expect([refused?.message, refused?.fields]).toEqual(["Sign in again to continue.", {}]);
  expect(await identitiesOf(user.id)).toBe(2);
  await signInWith(google, jar);
  await submit("account/unlink", { identityId }, { cookie: jar.header });
  expect(await identitiesOf(user.id)).toBe(1);
});

test("an identity without an issuer still signs in, and gets the configured issuer", async () => {
  const account = await newAccount();
  const { identityId } = await linkGoogle(account);
  await ctx().db.identity.update({ where: { id: identityId }, data: { issuer: null } });
  const jar = new Jar();
  await signInWith(google, jar);
  expect(await session(jar)).toMatchObject({ user: { id: account.id } });
  const { issuer } = await ctx().db.identity.findUniqueOrThrow({ where: { id: identityId } });
  expect(issuer).toBe(ctx().config.AUTH_GOOGLE_ISSUER);
});

test("a reset lists the providers that can still sign in: in its response, form and email", async () => {
  const account = await newAccount();
  await ctx().db.account.update({ where: { id: account.id }, data: { emailVerifiedAt: ctx().now() } });
  await linkGoogle(account);
  const response = await post("/api/auth/reset/confirm", {
    token: await requestReset(account.email),
    password: "a new good password",
  });
  expect(await response.json()).toEqual({
    status: "password_reset",
    identities: [{ provider: "google", linkedAt: expect.stringMatching(/Z$/) }],
  });
  const isNotified = () =>
    mailbox.to(account.email).some((message) => /can still sign in[\s\S]*- Google, since/.test(message));
  await expect.poll(isNotified).toBe(true);
  const form = await submit("reset", { token: await requestReset(account.email, 2), password: "another new password" });
  expect(form.headers.get("location")).toBe("/sign-in?done=password_reset&linked=google");
});

test("an account whose email is not verified is removed after 30 days, unless it has a valid link", async () => {
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    const emails = ["old", "renewed"].map((name) => `${name}-${randomUUID()}@example.com`);
    const [old = "", renewed = ""] = emails;
    const register = (email: string) => post("/api/auth/register", { email, password: "a good long password" });
    for (const email of emails) expect((await register(email)).status).toBe(202);
    google.person = newPerson({ hd: undefined });
    const jar = new Jar();
    await signInWith(google, jar);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    const unverified = String(google.person.claims.email);
    const exists = async (email: string) => (await ctx().db.account.count({ where: { email } })) === 1;
    const waiting = { where: { email: { in: [old, renewed, unverified] } } };
    // Composed later, a link would be valid for longer.
    const allSent = () => expect.poll(() => ctx().db.queuedEmail.count(waiting)).toBe(0);
    await allSent();

    clock.advance(29.9 * DAY_MS);
    await register(renewed);
    await allSent();
    await removeExpiredRows(ctx());
    expect([await exists(old), await exists(renewed), await exists(unverified)]).toEqual([true, true, true]);
    clock.advance(0.2 * DAY_MS);
    await removeExpiredRows(ctx());
    expect([await exists(old), await exists(renewed), await exists(unverified)]).toEqual([false, true, false]);
    clock.advance(DAY_MS);
    await removeExpiredRows(ctx());
    expect(await exists(renewed)).toBe(false);
  });
});

test("an unverified account is kept after a sign-in, or if verification was not required", async () => {
  const [registered, pending] = [
    await newAccount(),
    { email: `w-${randomUUID()}@example.com`, password: "a good long one" },
  ];
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    expect((await post("/api/auth/register", pending)).status).toBe(202);
  });
  expect((await post("/api/auth/login", pending)).status).toBe(200); // verification was switched off
  clock.advance(100 * DAY_MS);
  await removeExpiredRows(ctx());
  const where = { email: { in: [registered.email, pending.email] } };
  expect(await ctx().db.account.count({ where })).toBe(2);
});

// ASVS 14.2.7
test("old email and notification files are removed from their folder, and no other files", async () => {
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
