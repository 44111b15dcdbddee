import { describe, expect, test } from "vitest";
import { resetFactors } from "@/lib/accounts/admin/change-account";
import type { PasskeyAssertion } from "@/lib/auth/passkeys/schema";
import type { Context } from "@/lib/context";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { addAuthenticator, newProtectedAccount, type ProtectedAccount } from "@/tests/support/auth/authenticator";
import { Jar, session } from "@/tests/support/auth/browser";
import { PasskeyAuthenticator } from "@/tests/support/auth/passkey-authenticator";
import { addPasskey, signInOptions, stepUpOptions } from "@/tests/support/auth/passkeys";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { flashOf, submit } from "@/tests/support/web/forms";

const signIn = (passkey: PasskeyAssertion, extra: object = {}) =>
  post("/api/auth/passkeys/sign-in", { passkey, ...extra });

// ASVS 6.5.7
test("a passkey signs in without an email and a password, at level 2", async () => {
  const account = await newAccount();
  const { authenticator, passkey } = await addPasskey(account);
  const options = await signInOptions();
  expect(options).toMatchObject({ rpId: "localhost", allowCredentials: [], userVerification: "required" });
  const response = await signIn(authenticator.get(options), { deviceName: "Ann's iPhone" });
  expect(response.status).toBe(200);
  const { user, session, token } = await response.json();
  expect(user).toMatchObject({ id: account.id, email: account.email });
  expect((await get("/api/auth/passkeys", { token })).status).toBe(200);
  const row = await ctx().db.session.findUniqueOrThrow({ where: { id: session.id } });
  expect(row).toMatchObject({ aal: 2, amr: ["swk", "user", "mfa"], deviceName: "Ann's iPhone", transport: "token" });
  expect((await ctx().db.passkey.findUniqueOrThrow({ where: { id: passkey.id } })).lastUsedAt).not.toBeNull();
  expect(await eventsOf(account.id)).toEqual(["registered", "passkey_added", "signed_in"]);
});

test("a browser gets a cookie, only from the service's own pages", async () => {
  const { authenticator } = await addPasskey(await newAccount());
  const from = async (origin: string) =>
    post("/api/auth/passkeys/sign-in", { passkey: authenticator.get(await signInOptions()) }, { headers: { origin } });
  const jar = new Jar();
  jar.take(await from(BASE_URL));
  expect((await session(jar)).user).toBeDefined();
  const refused = await from("https://evil.example");
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []]);
});

test("a passkey that stays on one device counts its uses, and is one in hardware", async () => {
  const { authenticator, passkey } = await addPasskey(
    await newAccount(),
    new PasskeyAuthenticator({ hasCounter: true }),
  );
  expect(passkey.isSynced).toBe(false);
  for (const uses of [1n, 2n]) {
    const { session } = await (await signIn(authenticator.get(await signInOptions()))).json();
    const { amr } = await ctx().db.session.findUniqueOrThrow({ where: { id: session.id } });
    expect(amr).toEqual(["hwk", "user", "mfa"]);
    expect((await ctx().db.passkey.findUniqueOrThrow({ where: { id: passkey.id } })).counter).toBe(uses);
  }
});

test("a passkey that is not backed up any more is shown as such", async () => {
  const account = await newAccount();
  const { authenticator } = await addPasskey(account);
  expect((await signIn(authenticator.get(await signInOptions(), { isBackedUp: false }))).status).toBe(200);
  const { passkeys } = await (await get("/api/auth/passkeys", { token: account.token })).json();
  expect(passkeys).toMatchObject([{ isSynced: false }]);
});

test("two tabs sign in side by side, each with its own challenge", async () => {
  const { authenticator } = await addPasskey(await newAccount());
  const [one, two] = [await signInOptions(), await signInOptions()];
  const responses = [await signIn(authenticator.get(two)), await signIn(authenticator.get(one))];
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
});

test("where emails have to be verified, a passkey alone does not sign in to an unverified account", async () => {
  const { authenticator } = await addPasskey(await newAccount());
  const refused = await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () =>
    signIn(authenticator.get(await signInOptions())),
  );
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: "email_not_verified" }]);
});

test("a disabled account is refused, and only after a right passkey", async () => {
  const account = await newAccount();
  const { authenticator } = await addPasskey(account);
  await ctx().db.account.update({ where: { id: account.id }, data: { disabledAt: clock.now() } });
  const wrong = await signIn(authenticator.get(await signInOptions(), { isUserVerified: false }));
  const right = await signIn(authenticator.get(await signInOptions()));
  expect([(await wrong.json()).code, (await right.json()).code]).toEqual(["passkey_invalid", "account_disabled"]);
});

test("a step-up names the account's passkeys, and an account without one has none", async () => {
  const account = await newAccount();
  expect((await post("/api/auth/passkeys/step-up/options", undefined, { token: account.token })).status).toBe(404);
  const { passkey } = await addPasskey(account);
  const { allowCredentials, userVerification } = await stepUpOptions(account);
  expect(allowCredentials).toMatchObject([{ id: passkey.credentialId }]);
  expect(userVerification).toBe("required");
});

const OPTIONS = "/api/auth/passkeys/second-factor/options";

/** The error of a login whose password was right. */
const logIn = async ({ email, password }: ProtectedAccount) =>
  (await post("/api/auth/login", { email, password })).json();

const complete = (challenge: string, passkey: PasskeyAssertion) =>
  post("/api/auth/login/factor", { challenge, passkey });

const optionsFor = async (challenge: string) => (await post(OPTIONS, { challenge })).json();

/** An account with an authenticator app and a passkey. */
async function newAccountWithBoth(name?: string) {
  const account = await newAccount();
  const { authenticator, passkey } = await addPasskey(account, new PasskeyAuthenticator(), name);
  return { account: { ...account, ...(await addAuthenticator(account.id)) }, authenticator, passkey };
}

test("after the password, a passkey is one of the second factors, even if it verifies nobody", async () => {
  const { account, authenticator, passkey } = await newAccountWithBoth();
  const { code, challenge, factors } = await logIn(account);
  expect([code, factors]).toEqual(["second_factor_required", ["totp", "passkey", "recovery_code"]]);
  const options = await optionsFor(challenge);
  expect(options).toMatchObject({ userVerification: "preferred", allowCredentials: [{ id: passkey.credentialId }] });
  const forgery = { isUserVerified: false, userHandle: null };
  const response = await complete(challenge, authenticator.get(options, forgery));
  expect(response.status).toBe(200);
  const { session } = await response.json();
  const { aal, amr } = await ctx().db.session.findUniqueOrThrow({ where: { id: session.id } });
  expect([aal, amr]).toEqual([2, ["pwd", "swk", "mfa"]]);
  expect((await post(OPTIONS, { challenge })).status).toBe(401);
});

test("a passkey that verifies its user signs in to an account with an authenticator app, without a code", async () => {
  const { authenticator } = await newAccountWithBoth();
  const passkey = authenticator.get(await signInOptions());
  expect((await post("/api/auth/passkeys/sign-in", { passkey })).status).toBe(200);
  const unverified = authenticator.get(await signInOptions(), { isUserVerified: false });
  expect((await post("/api/auth/passkeys/sign-in", { passkey: unverified })).status).toBe(422);
});

test("a passkey alone is no second factor of the password", async () => {
  const account = await newProtectedAccount();
  await ctx().db.totpFactor.deleteMany({ where: { accountId: account.id } });
  await addPasskey(account);
  expect(await logIn(account)).toMatchObject({ user: { id: account.id } });
});

test("a challenge of another purpose or account completes no sign-in, which stays open", async () => {
  const { account, authenticator } = await newAccountWithBoth();
  const other = await newAccountWithBoth();
  const { challenge } = await logIn(account);
  const options = await optionsFor(challenge);
  const others = [await optionsFor((await logIn(other.account)).challenge), await stepUpOptions(account)];
  for (const { challenge: foreign } of [...others, await signInOptions()]) {
    const refused = await complete(challenge, authenticator.get({ ...options, challenge: foreign }));
    expect([refused.status, (await refused.json()).reason]).toEqual([422, "challenge_invalid"]);
  }
  const stolen = await complete(challenge, other.authenticator.get(await optionsFor(challenge)));
  expect((await stolen.json()).reason).toBe("credential_unknown");
  expect((await complete(challenge, authenticator.get(options))).status).toBe(200);
});

test("without a passkey there are no options", async () => {
  const { challenge } = await logIn(await newProtectedAccount());
  expect((await post(OPTIONS, { challenge })).status).toBe(404);
});

test("the form of the page sends a passkey, with the challenge in the browser's cookie", async () => {
  const { account, authenticator } = await newAccountWithBoth();
  const jar = new Jar();
  const { email, password } = account;
  jar.take(await submit("sign-in", { email, password }));
  const options = await (await post(OPTIONS, {}, { cookie: jar.header })).json();
  const malformed = await submit("sign-in/factor", { kind: "passkey", passkey: "{" }, { cookie: jar.header });
  expect(flashOf(malformed)?.fields).toEqual({ passkey: "Must be JSON" });
  const passkey = JSON.stringify(authenticator.get(options));
  jar.take(await submit("sign-in/factor", { kind: "passkey", passkey }, { cookie: jar.header }));
  expect((await session(jar)).user).toMatchObject({ id: account.id });
});

const removePasskey = async ({ token }: TestAccount, passkeyId: string) =>
  expect((await call("DELETE", `/api/auth/passkeys/${passkeyId}`, { token })).status).toBe(204);

/** The database, in which `run`, another request, is done before the account of a verified passkey is read. */
function databaseOnceVerified(run: () => Promise<unknown>): Context["db"] {
  let hasRun = false;
  const findUnique = async <A, R>({ args, query }: { args: A; query: (args: A) => Promise<R> }): Promise<R> => {
    const isFirst = !hasRun;
    hasRun = true;
    if (isFirst) await run();
    return query(args);
  };
  return ctx().db.$extends({ query: { account: { findUnique } } }) as unknown as Context["db"];
}

describe("a passkey that is removed while it signs in", () => {
  const REMOVALS: [string, (account: TestAccount, passkeyId: string) => Promise<unknown>][] = [
    ["its owner", removePasskey],
    ["an operator", ({ id }) => resetFactors(ctx(), OPERATOR, id)],
  ];
  const live = (accountId: string) => ctx().db.session.findMany({ where: { accountId, revokedAt: null, aal: 2 } });

  test.each(REMOVALS)("by %s gives no session", async (_, remove) => {
    const account = await newAccount();
    const { authenticator, passkey } = await addPasskey(account);
    const assertion = authenticator.get(await signInOptions());
    const db = databaseOnceVerified(() => remove(account, passkey.id));
    const refused = await withContext({ db }, () => signIn(assertion));
    expect([refused.status, (await refused.json()).code]).toEqual([401, "invalid_credentials"]);
    expect(await live(account.id)).toEqual([]);
  });

  test.each(REMOVALS)("by %s completes no sign-in as its second factor", async (_, remove) => {
    const { account, authenticator, passkey } = await newAccountWithBoth();
    await ctx().db.session.updateMany({ where: { accountId: account.id }, data: { aal: 2 } });
    const { challenge } = await logIn(account);
    const assertion = authenticator.get(await optionsFor(challenge));
    const db = databaseOnceVerified(() => remove(account, passkey.id));
    const refused = await withContext({ db }, () => complete(challenge, assertion));
    expect([refused.status, (await refused.json()).code]).toEqual([401, "invalid_challenge"]);
    expect((await live(account.id)).filter(({ id }) => id !== account.sessionId)).toEqual([]);
  });
});
