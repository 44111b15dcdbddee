import { expect, test } from "vitest";
import { newAccount, requestReset } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import {
  csrfToken,
  followCallback,
  Jar,
  postForm,
  session,
  signIn,
  signInWith,
  startProvider,
} from "@/tests/support/auth/browser";
import { errorOf, googlePerson, identitiesOf, newEmail, setUpProviders } from "@/tests/support/auth/providers";
import { BASE_URL, clock, ctx, databaseAfter, withContext } from "@/tests/support/context";
import { newVerified } from "@/tests/support/email-change";

const { google } = await setUpProviders();

// ASVS 10.5.1, 10.5.2, 10.5.3, 10.5.4
test("a signed-in account can link an identity with any email, and the new session replaces the old one", async () => {
  const account = await newAccount();
  const jar = new Jar();
  await signIn(jar, account);
  const before = jar.header;
  google.person = googlePerson(newEmail());
  await signInWith(google, jar);
  expect(await session(jar)).toMatchObject({ user: { id: account.id } });
  expect((await get("/api/push/devices", { cookie: before })).status).toBe(401);
  const elsewhere = new Jar();
  await signInWith(google, elsewhere);
  expect(await session(elsewhere)).toMatchObject({ user: { id: account.id } });
});

// ASVS 6.8.1
test("an identity of another account cannot be linked", async () => {
  google.person = googlePerson(newEmail());
  const owner = new Jar();
  await signInWith(google, owner);
  const account = await newAccount();
  const jar = new Jar();
  await signIn(jar, account);
  expect(errorOf(await signInWith(google, jar))).toBe("identity_in_use");
  expect(await session(jar)).toMatchObject({ user: { id: account.id } });
  expect(await identitiesOf(account.id)).toEqual([]);
});

// ASVS 7.5.1
test("linking an identity requires a recent sign-in", async () => {
  const account = await newAccount();
  const jar = new Jar();
  await signIn(jar, account);
  clock.advance(11 * 60 * 1000);
  google.person = googlePerson(newEmail());
  expect(errorOf(await signInWith(google, jar))).toBe("reauthentication_required");
  expect(await identitiesOf(account.id)).toEqual([]);
  await signIn(jar, account);
  expect(await signInWith(google, jar)).toBe(`${BASE_URL}/`);
  expect(await identitiesOf(account.id)).toHaveLength(1);
});

test("a session that is revoked during a sign-in at a provider neither links nor creates an account", async () => {
  const account = await newAccount();
  const jar = new Jar();
  await signIn(jar, account);
  const email = newEmail();
  google.person = googlePerson(email);
  const callback = await google.approve(await startProvider(google, jar));
  await ctx().db.session.updateMany({ where: { accountId: account.id }, data: { revokedAt: new Date() } });
  const location = (await followCallback(jar, callback)).headers.get("location") ?? "";
  expect(errorOf(location)).toBe("unauthenticated");
  expect(await identitiesOf(account.id)).toEqual([]);
  expect(await ctx().db.account.count({ where: { email } })).toBe(0);
});

test.each(["a reset", "a sign-out"])(
  "a session that ends by %s while the provider is asked links nothing",
  async (by) => {
    const account = await newVerified();
    const reset = await requestReset(account.email);
    const jar = new Jar();
    await signIn(jar, account);
    google.person = googlePerson(newEmail());
    const callback = await google.approve(await startProvider(google, jar));
    const exchanges = google.exchanges.length;
    const end = async () => {
      expect(google.exchanges.length).toBe(exchanges + 1);
      if (by === "a reset") await post("/api/auth/reset/confirm", { token: reset, password: newEmail() });
      else await postForm(jar, "/api/auth/signout", { csrfToken: await csrfToken(jar) });
    };
    const db = databaseAfter(end);
    const location = (await withContext({ db }, () => followCallback(jar, callback))).headers.get("location") ?? "";
    expect(errorOf(location)).toBe("unauthenticated");
    expect(await identitiesOf(account.id)).toEqual([]);
  },
);

// ASVS 7.6.1, 7.6.2
test("a sign-in that starts signed out links nothing to an account that signs in to the browser meanwhile", async () => {
  const jar = new Jar();
  const email = newEmail();
  google.person = googlePerson(email);
  const callback = await google.approve(await startProvider(google, jar));
  const other = await newAccount();
  await signIn(jar, other);
  await followCallback(jar, callback);
  expect(await session(jar)).toMatchObject({ user: { email } });
  expect(await identitiesOf(other.id)).toEqual([]);
});

test("two concurrent first sign-ins create one account", async () => {
  const email = newEmail();
  google.person = googlePerson(email);
  const jars = [new Jar(), new Jar()];
  const callbacks = await Promise.all(jars.map(async (jar) => google.approve(await startProvider(google, jar))));
  await Promise.all(jars.map((jar, i) => followCallback(jar, callbacks[i] ?? "")));
  for (const jar of jars) expect(await session(jar)).toMatchObject({ user: { email } });
  expect(await ctx().db.identity.count({ where: { subject: google.person.sub } })).toBe(1);
});
