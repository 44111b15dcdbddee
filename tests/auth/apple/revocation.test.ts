import { beforeEach, describe, expect, test } from "vitest";
import { unlinkProvider } from "@/lib/accounts/admin/change-account";
import { deleteAccountAsOperator } from "@/lib/accounts/delete-account";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { createAppleRevocations } from "@/lib/auth/sign-in-providers/apple-revocations";
import { call, get } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { Jar, session, signInWith } from "@/tests/support/auth/browser";
import { applePerson, googlePerson, identitiesOf, newEmail, setUpProviders } from "@/tests/support/auth/providers";
import { NEW_SECRET, restoreKeys, rotateKeys } from "@/tests/support/auth/rotation";
import { BASE_URL, clock, ctx, SECRET, setUpContext, withContext } from "@/tests/support/context";

const DAY_MS = 24 * 60 * 60 * 1000;
const { google, apple } = await setUpProviders();

beforeEach(async () => {
  apple.revocationStatus = 200;
  apple.revoked.length = 0;
  await ctx().db.appleRevocation.deleteMany();
});

setUpContext({ appleRevocations: { wake: () => {}, close: async () => {} } }); // a test says when it works

/** Waits until every revocation that is due was tried. */
async function asked(): Promise<void> {
  // The fake checks the time in the client secret by its own clock.
  const revocations = createAppleRevocations({ ...ctx(), now: () => new Date() });
  revocations.wake();
  await expect.poll(() => ctx().db.appleRevocation.count({ where: { nextAttemptAt: { lte: clock.now() } } })).toBe(0);
  await revocations.close();
}

async function signInWithApple(email = newEmail()) {
  const jar = new Jar();
  apple.person = applePerson(email);
  expect(await signInWith(apple, jar)).toBe(`${BASE_URL}/`);
  const { user } = (await session(jar)) as { user: { id: string } };
  return { jar, id: user.id, email, token: apple.refreshTokens.at(-1) ?? "" };
}

const exportOf = (jar: Jar) =>
  get("/api/auth/account/export", { cookie: jar.header, headers: { "sec-fetch-site": "same-origin" } });
const deleteOwn = (jar: Jar) =>
  call("POST", "/api/auth/account/delete", {
    json: { confirm: "DELETE" },
    cookie: jar.header,
    headers: { origin: BASE_URL },
  });

describe("Apple's refresh token", () => {
  // ASVS 10.1.1
  test("is stored encrypted, is replaced by a newer one, and is kept for Apple alone", async () => {
    const { id, token } = await signInWithApple();
    const [first] = await identitiesOf(id);
    expect(first?.refreshToken).toMatch(/^1\.encryption:/);
    expect(JSON.stringify(first)).not.toContain(token);
    await signInWith(apple, new Jar());
    expect((await identitiesOf(id))[0]?.refreshToken).not.toBe(first?.refreshToken);

    google.person = googlePerson(newEmail());
    const jar = new Jar();
    await signInWith(google, jar);
    const { user } = (await session(jar)) as { user: { id: string } };
    expect(await identitiesOf(user.id)).toMatchObject([{ provider: "google", refreshToken: null }]);
  });

  test("is announced by the export, which does not contain it", async () => {
    const { jar, id } = await signInWithApple();
    const text = await (await exportOf(jar)).text();
    expect(JSON.parse(text).identities).toMatchObject([{ provider: "apple", isRevokedOnDeletion: true }]);
    expect(text).not.toContain((await identitiesOf(id))[0]?.refreshToken ?? "?");
  });

  test("is removed with the identity when it is unlinked, without a request to Apple", async () => {
    const { id } = await signInWithApple();
    await unlinkProvider(ctx(), OPERATOR, id, { provider: "apple" });
    await deleteAccountAsOperator(ctx(), OPERATOR, id);
    await asked();
    expect(apple.revoked).toEqual([]);
  });
});

describe("the deletion of an account", () => {
  test("asks Apple once to revoke the newest token, and forgets it", async () => {
    const { jar } = await signInWithApple();
    await signInWith(apple, new Jar());
    expect((await deleteOwn(jar)).status).toBe(200);
    expect(await ctx().db.appleRevocation.count()).toBe(1);
    await asked();
    await asked();
    expect(apple.revoked).toEqual([apple.refreshTokens.at(-1)]);
    expect(await ctx().db.appleRevocation.count()).toBe(0);
  });

  test("does not depend on Apple: an outage and a rotation of the secret delay the request", async () => {
    const { jar, token } = await signInWithApple();
    apple.revocationStatus = 503;
    expect((await deleteOwn(jar)).status).toBe(200);
    for (const _ of [1, 2, 3]) {
      await asked();
      clock.advance(DAY_MS);
    }
    expect(await ctx().db.appleRevocation.findMany()).toMatchObject([{ attempts: 3 }]);
    await rotateKeys([NEW_SECRET, SECRET]);
    apple.revocationStatus = 200;
    await asked();
    await restoreKeys();
    expect(apple.revoked).toEqual([token]);
  });

  test("gives up after 30 days, and tries a last time", async () => {
    const { jar } = await signInWithApple();
    apple.revocationStatus = 400;
    await deleteOwn(jar);
    clock.advance(31 * DAY_MS);
    await asked();
    expect(await ctx().db.appleRevocation.count()).toBe(0);
  });

  test("asks after ten minutes if the email is Apple's relay, so that the notice of the deletion arrives", async () => {
    const { jar, token } = await signInWithApple(`${crypto.randomUUID()}@privaterelay.appleid.com`);
    await deleteOwn(jar);
    await asked();
    expect(apple.revoked).toEqual([]);
    clock.advance(10 * 60 * 1000);
    await asked();
    expect(apple.revoked).toEqual([token]);
  });

  test("by an operator, or because its email was not verified in time, asks Apple too", async () => {
    const first = await signInWithApple();
    await deleteAccountAsOperator(ctx(), OPERATOR, first.id);
    const second = await signInWithApple();
    const unverified = { emailVerifiedAt: null, unverifiedExpiresAt: clock.now() };
    await ctx().db.account.update({ where: { id: second.id }, data: unverified });
    clock.advance(1000);
    await ctx().db.session.deleteMany({ where: { accountId: second.id } }); // a live session keeps the account
    await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, () => removeExpiredRows(ctx()));
    await asked();
    expect(apple.revoked.toSorted()).toEqual([first.token, second.token].toSorted());
  });
});
