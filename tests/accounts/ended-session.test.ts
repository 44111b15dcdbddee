import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { eventsOf, requestReset, type TestAccount } from "@/tests/support/accounts";
import { call, post } from "@/tests/support/api";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { PasskeyAuthenticator } from "@/tests/support/auth/passkey-authenticator";
import { addPasskey, creationOptions } from "@/tests/support/auth/passkeys";
import { ctx, databaseAfter, withContext } from "@/tests/support/context";
import { newVerified } from "@/tests/support/email-change";

type Request = () => Promise<Response>;

async function confirmingTotp({ token }: TestAccount): Promise<Request> {
  const { id, secret } = await (await post("/api/auth/factors/totp", {}, { token })).json();
  const code = new Authenticator(secret).code();
  return () => post("/api/auth/factors/totp/confirm", { id, code }, { token });
}

/** After an authenticator app was added. */
async function withTotp(account: TestAccount, request: Request): Promise<Request> {
  expect((await (await confirmingTotp(account))()).status).toBe(200);
  return request;
}

const REQUESTS: [string, (account: TestAccount) => Promise<Request>][] = [
  ["adds no authenticator app", confirmingTotp],
  [
    "removes no authenticator app",
    (account) => withTotp(account, () => call("DELETE", "/api/auth/factors/totp", { token: account.token, json: {} })),
  ],
  [
    "renews no recovery codes",
    (account) => withTotp(account, () => post("/api/auth/factors/recovery-codes", {}, { token: account.token })),
  ],
  [
    "adds no passkey",
    async (account) => {
      const passkey = new PasskeyAuthenticator().create(await creationOptions(account));
      return () => post("/api/auth/passkeys", { passkey }, { token: account.token });
    },
  ],
  [
    "removes no passkey",
    async (account) => {
      const { passkey } = await addPasskey(account);
      return () => call("DELETE", `/api/auth/passkeys/${passkey.id}`, { token: account.token });
    },
  ],
  [
    "removes no provider",
    async ({ id: accountId, token }) => {
      const data = { accountId, provider: "google", issuer: "https://accounts.google.com", subject: randomUUID() };
      const { id } = await ctx().db.identity.create({ data });
      return () => call("DELETE", `/api/auth/identities/${id}`, { token });
    },
  ],
  [
    "starts no change of the email",
    async ({ token }) =>
      () =>
        post("/api/auth/email/change", { email: `new-${randomUUID()}@example.com` }, { token }),
  ],
  [
    "sets no password",
    async ({ password, token }) =>
      () =>
        post("/api/auth/password/change", { password, newPassword: `the thief's ${randomUUID()}` }, { token }),
  ],
];

const ENDS: [string, (account: TestAccount) => Promise<Request>][] = [
  [
    "a reset",
    async ({ email }) => {
      const token = await requestReset(email);
      return () => post("/api/auth/reset/confirm", { token, password: `the owner's ${randomUUID()}` });
    },
  ],
  [
    "a sign-out",
    async ({ token }) =>
      () =>
        post("/api/auth/signout", {}, { token }),
  ],
];

async function stateOf(account: TestAccount) {
  const own = await ctx().db.account.findUniqueOrThrow({
    where: { id: account.id },
    select: { email: true, passkeys: true, identities: true, recoveryCodes: true },
  });
  const where = { accountId: account.id };
  const factors = await ctx().db.totpFactor.findMany({ where: { ...where, confirmedAt: { not: null } } });
  return { ...own, factors, changes: await ctx().db.emailChange.count({ where }) };
}

describe.each(ENDS)("a request whose session ends by %s before it changes something", (_, ending) => {
  test.each(REQUESTS)("%s", async (_, preparing) => {
    const account = await newVerified();
    const request = await preparing(account);
    const end = await ending(account);
    const before = await stateOf(account);
    const events = await eventsOf(account.id);
    const db = databaseAfter(async () => expect((await end()).status).toBe(200));
    expect((await withContext({ db }, request)).status).toBe(401);
    expect(await stateOf(account)).toEqual(before);
    expect((await eventsOf(account.id)).slice(events.length)).toHaveLength(1);
  });
});
