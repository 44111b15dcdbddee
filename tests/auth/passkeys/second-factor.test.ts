import { expect, test } from "vitest";
import type { PasskeyAssertion } from "@/lib/auth/passkeys/schema";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { addAuthenticator, newProtectedAccount, type ProtectedAccount } from "@/tests/support/auth/authenticator";
import { Jar, session } from "@/tests/support/auth/browser";
import { PasskeyAuthenticator } from "@/tests/support/auth/passkey-authenticator";
import { addPasskey, signInOptions, stepUpOptions } from "@/tests/support/auth/passkeys";
import { ctx } from "@/tests/support/context";
import { flashOf, submit } from "@/tests/support/web/forms";

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

test("the list of factors has the passkeys", async () => {
  const { account, passkey } = await newAccountWithBoth("My phone");
  const { passkeys } = await (await get("/api/auth/factors", { token: account.token })).json();
  expect(passkeys).toEqual([passkey]);
});
