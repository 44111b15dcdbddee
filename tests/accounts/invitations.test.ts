import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { eventsOf, newAccount, requestReset } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { PasskeyAuthenticator } from "@/tests/support/auth/passkey-authenticator";
import { addPasskey, signInOptions } from "@/tests/support/auth/passkeys";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";
import { attempted, deliveriesOf, newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const DAY_MS = 24 * 60 * 60 * 1000;
const PASSWORD = "an entirely new password";

const newEmail = () => `invited-${randomUUID()}@example.com`;

async function create(fields: object): Promise<Response> {
  const { key } = await newKey({ scopes: ["accounts:write"] });
  return post("/api/admin/accounts", fields, { token: key });
}

async function invite(accountId: string): Promise<Response> {
  const { key } = await newKey({ scopes: ["accounts:write"] });
  return post(`/api/admin/accounts/${accountId}/invitation`, undefined, { token: key });
}

/** The token in the n-th invitation that an email got. */
async function tokenTo(email: string, n = 1): Promise<string> {
  const tokens = () =>
    mailbox
      .to(email)
      .flatMap((message) => new RegExp(`${BASE_URL}/invitation#token=([\\w-]{43})`).exec(message)?.[1] ?? []);
  await expect.poll(() => tokens().length).toBeGreaterThanOrEqual(n);
  return tokens()[n - 1] ?? "";
}

async function newInvitation() {
  const email = newEmail();
  const { account } = (await (await create({ email, invite: true })).json()) as { account: { id: string } };
  return { id: account.id, email, token: await tokenTo(email) };
}

const accept = (token: string, password = PASSWORD) => post("/api/auth/invitation", { token, password });
const signIn = async (email: string, password = PASSWORD) =>
  (await post("/api/auth/login", { email, password })).status;

async function codeOf(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as { code: string }).code];
}

const REFUSED = [400, "invalid_or_expired_token"];

test("an operator creates an account, whose owner sets a password by the invitation, once", async () => {
  const email = newEmail();
  const receiver = await newReceiver(["account.created"]);
  const response = await create({ email: email.toUpperCase(), name: "Ann", locale: "de", invite: true });
  expect(response.status).toBe(201);
  const { account, invitation } = await response.json();
  expect(account).toMatchObject({ email, name: "Ann", role: "user", emailVerifiedAt: null });
  expect(Date.parse(invitation.expiresAt) - Date.parse(invitation.createdAt)).toBe(7 * DAY_MS);
  await attempted(receiver.id, 1);
  expect(await deliveriesOf(receiver.id)).toMatchObject([{ type: "account.created" }]);
  await removeEndpoints();
  const token = await tokenTo(email);
  expect(mailbox.to(email)[0]).toContain("Content-Language: de");
  expect(JSON.stringify(await ctx().db.invitation.findMany())).not.toContain(token);
  expect(await codeOf(await accept(token, "short"))).toEqual([422, "validation_failed"]);
  expect(await (await accept(token)).json()).toEqual({ status: "invitation_accepted", identities: [] });
  expect(await codeOf(await accept(token, "the password of somebody else"))).toEqual(REFUSED);
  const login = await post("/api/auth/login", { email, password: PASSWORD });
  expect(await login.json()).toMatchObject({ user: { id: account.id, emailVerified: true } });
  expect(await eventsOf(account.id)).toEqual([
    "account_created",
    "account_invited",
    "invitation_accepted",
    "signed_in",
  ]);
});

test("an invitation is accepted with a passkey, which then signs in", async () => {
  const { id, token } = await newInvitation();
  const options = async () => post("/api/auth/passkeys/invitation/options", { token });
  const authenticator = new PasskeyAuthenticator();
  const forged = {
    token,
    passkey: authenticator.create(await (await options()).json(), { origin: "https://evil.example" }),
  };
  expect(await codeOf(await post("/api/auth/invitation", forged))).toEqual([422, "passkey_invalid"]);
  const both = { token, password: PASSWORD, passkey: authenticator.create(await (await options()).json()) };
  expect(await codeOf(await post("/api/auth/invitation", both))).toEqual([422, "validation_failed"]);
  const owners = new PasskeyAuthenticator();
  const passkey = owners.create(await (await options()).json());
  expect((await post("/api/auth/invitation", { token, passkey })).status).toBe(200);
  expect(await codeOf(await accept(token))).toEqual(REFUSED);
  expect(await codeOf(await options())).toEqual(REFUSED);
  const assertion = owners.get(await signInOptions());
  const signedIn = await post("/api/auth/passkeys/sign-in", { passkey: assertion });
  expect(await signedIn.json()).toMatchObject({ user: { id, emailVerified: true } });
});

test("the form takes the whole link without JavaScript, and does not sign in", async () => {
  const { email, token } = await newInvitation();
  const fields = { token: ` ${BASE_URL}/invitation#token=${token} `, password: PASSWORD };
  const accepted = await submit("invitation", fields);
  expect(accepted.headers.get("location")).toBe("/sign-in?done=invitation_accepted");
  expect(cookiesOf(accepted)).not.toContain("session");
  expect(await signIn(email)).toBe(200);
  expect(flashOf(await submit("invitation", fields))?.message).toContain("This link is no longer valid");
});

test("an email that has an account is refused with the account's id, also for two requests at once", async () => {
  const email = newEmail();
  const responses = await Promise.all([create({ email }), create({ email })]);
  expect(responses.map(({ status }) => status).sort()).toEqual([201, 409]);
  const { id } = await ctx().db.account.findUniqueOrThrow({ where: { email } });
  expect(await (await create({ email, invite: true })).json()).toMatchObject({ code: "email_taken", accountId: id });
  expect(await codeOf(await create({ email: "not an email" }))).toEqual([422, "validation_failed"]);
  expect(mailbox.to(email)).toEqual([]);
});

test.each<[string, (account: { id: string; email: string; token: string }) => Promise<unknown>]>([
  ["another one was sent", async ({ id, email }) => [await invite(id), await tokenTo(email, 2)]],
  ["7 days have passed", async () => clock.advance(7 * DAY_MS + 60_000)],
  [
    "the account was disabled",
    ({ id }) => ctx().db.account.update({ where: { id }, data: { disabledAt: new Date() } }),
  ],
  ["the account was deleted", ({ id }) => ctx().db.account.delete({ where: { id } })],
  [
    "a reset has set a password",
    async ({ email }) => post("/api/auth/reset/confirm", { token: await requestReset(email), password: PASSWORD }),
  ],
  [
    "an import has set a password",
    ({ id }) => ctx().db.account.update({ where: { id }, data: { passwordHash: "$2b$10$" } }),
  ],
  // ASVS 6.4.1
])("an invitation does not work after %s", async (_, change) => {
  const account = await newInvitation();
  await change(account);
  expect(await codeOf(await accept(account.token, "the password of somebody else"))).toEqual(REFUSED);
});

test("a passkey that was added ends the invitation, also if support removes the passkey", async () => {
  const account = await newAccount();
  await ctx().db.account.update({ where: { id: account.id }, data: { passwordHash: null } });
  expect((await invite(account.id)).status).toBe(200);
  const token = await tokenTo(account.email);
  await addPasskey(account);
  await ctx().db.passkey.deleteMany({ where: { accountId: account.id } });
  expect(await codeOf(await accept(token))).toEqual(REFUSED);
});

test("of two concurrent uses of an invitation, one succeeds", async () => {
  const { token } = await newInvitation();
  const responses = await Promise.all([
    accept(token, "password of the first"),
    accept(token, "password of the second"),
  ]);
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 400]);
});

test("an account without a password and a passkey can be invited, five times an hour, and no other one", async () => {
  const { id: registered } = await newAccount();
  expect(await codeOf(await invite(registered))).toEqual([409, "sign_in_method_exists"]);
  expect(await codeOf(await invite(randomUUID()))).toEqual([404, "not_found"]);
  const email = newEmail();
  const { key } = await newKey({ scopes: ["accounts:write", "accounts:read"] });
  const headers = { "content-type": "application/x-ndjson" };
  const body = JSON.stringify({ email, emailVerified: true });
  const imported = await call("POST", "/api/admin/accounts/import", { body, token: key, headers });
  const [{ accountId }] = (await imported.json()).results;
  for (let sent = 1; sent <= 5; sent++) expect((await invite(accountId)).status).toBe(200);
  expect(await codeOf(await invite(accountId))).toEqual([429, "rate_limited"]);
  const shown = await get(`/api/admin/accounts/${accountId}`, { token: key });
  expect(await shown.json()).toMatchObject({ hasPassword: false, invitation: { expiresAt: expect.any(String) } });
});

test("clean-up keeps accounts that an operator has created, and those whose invitation is valid", async () => {
  const [created, pending] = [await newInvitation(), await newInvitation()];
  const ends = new Date(ctx().now().getTime() + 3 * DAY_MS);
  await ctx().db.account.update({ where: { id: pending.id }, data: { unverifiedExpiresAt: ends } });
  const remaining = async (days: number) => {
    clock.advance(days * DAY_MS);
    await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, () => removeExpiredRows(ctx()));
    return ctx().db.account.count({ where: { id: { in: [created.id, pending.id] } } });
  };
  expect(await remaining(6)).toBe(2);
  expect(await remaining(2)).toBe(1);
  expect(await remaining(400)).toBe(1);
  expect(await ctx().db.invitation.count({ where: { accountId: created.id } })).toBe(0);
});
