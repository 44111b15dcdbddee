import { randomUUID } from "node:crypto";
import * as client from "openid-client";
import { describe, expect, test } from "vitest";
import { readAppleToken } from "@/lib/auth/sign-in-providers/apple-tokens";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { addAuthenticator, meet } from "@/tests/support/auth/authenticator";
import { APP_ID, exchange, newNonce, setUpIssuers, tokenExchange } from "@/tests/support/auth/native-app";
import { errorOf, openApp } from "@/tests/support/auth/oauth-client";
import { identitiesOf, markVerified, newEmail } from "@/tests/support/auth/providers";
import { ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const { apple, google } = await setUpIssuers();

type Issued = { access_token: string };

const accountOf = (email: string) => ctx().db.account.findUnique({ where: { email } });

const emailClaims = (email: string) => ({ email, email_verified: true });

const relayEmail = () => `${randomUUID()}@privaterelay.appleid.com`;

async function signedIn(response: Response): Promise<{ id: string; email: string }> {
  expect(response.status).toBe(200);
  const { access_token: token } = (await response.json()) as Issued;
  return ((await (await get("/api/auth/session", { token })).json()) as { user: { id: string; email: string } }).user;
}

test("openid-client exchanges Apple's ID token for a session, which a new account gets with the name of the app", async () => {
  const app = await openApp("desktop");
  const [nonce, email] = [newNonce(), relayEmail()];
  const { grant_type, client_id, ...parameters } = tokenExchange(apple.token(nonce, emailClaims(email)), nonce);
  const tokens = await client.genericGrantRequest(app, grant_type, { ...parameters, name: " Ann Example " });
  expect(tokens.issued_token_type).toBe("urn:ietf:params:oauth:token-type:access_token");
  expect(tokens.expires_in).toBeGreaterThan(89 * 24 * 60 * 60);
  expect((await get("/api/subscription/status", { token: tokens.access_token })).status).toBe(200);
  const account = await accountOf(email);
  expect(account).toMatchObject({ name: "Ann Example", passwordHash: null });
  expect(account?.emailVerifiedAt).not.toBeNull();
  const sessions = await ctx().db.session.findMany({ where: { accountId: account?.id } });
  expect(sessions).toMatchObject([{ transport: "token", deviceName: "Acme Desktop", aal: 1, amr: ["fed"] }]);
});

test("the same person returns to the same account, whatever name and email the app or the token has then", async () => {
  const [sub, email] = [randomUUID(), relayEmail()];
  const enter = async (claims: object, change = {}) => {
    const nonce = newNonce();
    return signedIn(await exchange(apple.token(nonce, { sub, ...claims }), nonce, change));
  };
  const first = await enter(emailClaims(email), { name: "Ann" });
  expect(await enter({}, { name: "Mallory" })).toEqual(first);
  expect(await enter(emailClaims(relayEmail()))).toEqual(first);
  expect((await accountOf(email))?.name).toBe("Ann");
  expect(await identitiesOf(first.id)).toHaveLength(1);
});

test("Google's ID token has the nonce as it is, and the name", async () => {
  const [nonce, email] = [newNonce(), newEmail()];
  const token = google.token(nonce, { ...emailClaims(email), hd: "example.com", name: "Ann" });
  expect(await signedIn(await exchange(token, nonce, { name: "Mallory" }))).toMatchObject({ email, name: "Ann" });
});

test("Google's issuer may be without its scheme, and is the same issuer", async () => {
  const [sub, email] = [randomUUID(), newEmail()];
  const enter = async (iss: string) => {
    const nonce = newNonce();
    return signedIn(await exchange(google.token(nonce, { ...emailClaims(email), sub, iss }), nonce));
  };
  const { id } = await enter(google.origin.replace("http://", ""));
  expect(await enter(google.origin)).toMatchObject({ id });
  expect(await identitiesOf(id)).toMatchObject([{ issuer: google.origin }]);
});

describe("an email that an account has", () => {
  test("gets the identity if both have verified it, and its owner a mail", async () => {
    const { id, email } = await newAccount({ email: relayEmail() });
    await markVerified(id);
    const nonce = newNonce();
    expect(await signedIn(await exchange(apple.token(nonce, emailClaims(email)), nonce))).toMatchObject({ id });
    expect(await identitiesOf(id)).toMatchObject([{ provider: "apple", issuer: apple.origin }]);
    expect(await mailbox.waitFor(email, 1)).toContain("Apple");
  });

  test.each([
    ["email_verified is false", { email_verified: false }],
    ["the provider does not host the mailbox", { email_verified: true }],
  ])("is refused with identity_unverified if %s", async (_, claims) => {
    const { id, email } = await newAccount();
    await markVerified(id);
    const nonce = newNonce();
    const response = await exchange(google.token(nonce, { email, ...claims }), nonce);
    expect(await errorOf(response)).toEqual([400, "identity_unverified"]);
    expect(await identitiesOf(id)).toEqual([]);
  });
});

/** Somebody with an Apple ID. Each call signs in with a new token. */
function newAppleUser() {
  const [sub, email] = [randomUUID(), relayEmail()];
  return () => {
    const nonce = newNonce();
    return exchange(apple.token(nonce, { sub, ...emailClaims(email) }), nonce);
  };
}

test("a disabled account gets no session, and an error that says so", async () => {
  const enter = newAppleUser();
  const { id } = await signedIn(await enter());
  await ctx().db.account.update({ where: { id }, data: { disabledAt: new Date() } });
  expect(await errorOf(await enter())).toEqual([400, "account_disabled"]);
});

test("an account with a second factor gets a challenge, which a code completes, and no session before", async () => {
  const enter = newAppleUser();
  const { id } = await signedIn(await enter());
  const { app } = await addAuthenticator(id);
  const refused = await enter();
  const { challenge, ...rest } = (await refused.json()) as { challenge: string };
  expect(refused.status).toBe(400);
  expect(rest).toMatchObject({ error: "second_factor_required", factors: ["totp", "recovery_code"] });
  expect(await ctx().db.session.count({ where: { accountId: id } })).toBe(1);
  const { session, token } = (await (await meet(challenge, { code: app.code() })).json()) as {
    session: { id: string };
    token: string;
  };
  expect((await get("/api/subscription/status", { token })).status).toBe(200);
  const row = await ctx().db.session.findUnique({ where: { id: session.id } });
  expect(row).toMatchObject({ aal: 2, amr: ["fed", "otp", "mfa"], deviceName: "Acme Desktop" });
});

test("a person without an email gets no account", async () => {
  const nonce = newNonce();
  expect(await errorOf(await exchange(apple.token(nonce), nonce))).toEqual([400, "identity_without_email"]);
});

test("an email that has to be verified gets a link, and no session before", async () => {
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    const [nonce, email] = [newNonce(), newEmail()];
    const response = await exchange(google.token(nonce, { email, email_verified: false }), nonce);
    expect(await errorOf(response)).toEqual([400, "email_not_verified"]);
    expect(await mailbox.waitFor(email, 1)).toContain("/verify#token=");
    expect(await ctx().db.session.count({ where: { account: { email } } })).toBe(0);
  });
});

const withKey = (run: () => Promise<void>) => withContext({ config: apple.teamVariables }, run);

/** Signs in with an authorization code. Returns Apple's refresh token that is stored for the account. */
async function storedToken(code: string, issuer = apple, sub: string = randomUUID()) {
  const [nonce, email] = [newNonce(), `${randomUUID()}@privaterelay.appleid.com`];
  const token = issuer.token(nonce, { sub, email, email_verified: true });
  expect((await exchange(token, nonce, { authorization_code: code })).status).toBe(200);
  const [identity] = await identitiesOf(
    (await ctx().db.identity.findFirstOrThrow({ where: { subject: sub } })).accountId,
  );
  const { id = "", refreshToken = null } = identity ?? {};
  return refreshToken && readAppleToken(ctx(), id, refreshToken);
}

test("the authorization code of an app is exchanged for Apple's refresh token, which is stored with the app's id", async () => {
  await withKey(async () => {
    apple.codes.set("code-1", "r.1");
    expect(await storedToken("code-1")).toEqual({ clientId: APP_ID, refreshToken: "r.1" });
    expect([...apple.codes.keys()]).not.toContain("code-1");
    const rows = await ctx().db.identity.findMany();
    expect(JSON.stringify(rows)).not.toContain("r.1");
  });
});

test("a later sign-in replaces the token, and one without a code keeps it", async () => {
  await withKey(async () => {
    const sub = randomUUID();
    apple.codes.set("code-2", "r.2").set("code-3", "r.3");
    await storedToken("code-2", apple, sub);
    expect(await storedToken("code-3", apple, sub)).toMatchObject({ refreshToken: "r.3" });
    expect(await storedToken("", apple, sub)).toMatchObject({ refreshToken: "r.3" });
  });
});

test("a code that Apple refuses does not stop the sign-in", async () => {
  await withKey(async () => {
    expect(await storedToken("unknown")).toBeNull();
  });
});

test("a code of another person is not stored: a deletion would end that person's access", async () => {
  await withKey(async () => {
    const [nonce, sub] = [newNonce(), randomUUID()];
    const token = apple.token(nonce, { sub, email: `${randomUUID()}@icloud.com`, email_verified: true });
    apple.codes.set("code-4", "r.4");
    apple.codeSubject = "another person";
    expect((await exchange(token, nonce, { authorization_code: "code-4" })).status).toBe(200);
    expect([...apple.codes.keys()]).not.toContain("code-4");
    expect((await ctx().db.identity.findFirstOrThrow({ where: { subject: sub } })).refreshToken).toBeNull();
  });
});

test("a code of Google, or without a key of the team, is sent to nobody", async () => {
  const requests = () => [...apple.requests, ...google.requests].filter((path) => path === "/token").length;
  const before = requests();
  await withKey(async () => expect(await storedToken("code", google)).toBeNull());
  expect(await storedToken("code")).toBeNull();
  await withContext({ config: { AUTH_APPLE_SECRET: "a.jwt.of-the-web" } }, async () =>
    expect(await storedToken("code")).toBeNull(),
  );
  expect(requests()).toBe(before);
});
