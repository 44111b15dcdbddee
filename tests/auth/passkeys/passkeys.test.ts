import { expect, test } from "vitest";
import type { Passkey } from "@/lib/auth/passkeys/schema";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { PasskeyAuthenticator } from "@/tests/support/auth/passkey-authenticator";
import { addPasskey, creationOptions, signInOptions } from "@/tests/support/auth/passkeys";
import { clock, ctx } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const PATH = "/api/auth/passkeys";

const listOf = async ({ token }: TestAccount): Promise<Passkey[]> =>
  ((await (await get(PATH, { token })).json()) as { passkeys: Passkey[] }).passkeys;
const rename = (account: TestAccount, { id }: Passkey, name: string) =>
  call("PATCH", `${PATH}/${id}`, { token: account.token, json: { name } });
const remove = (account: TestAccount, { id }: Passkey) => call("DELETE", `${PATH}/${id}`, { token: account.token });

test("the options ask for a discoverable passkey that verifies its user, without attestation, on this host", async () => {
  const account = await newAccount();
  const { challenge, ...options } = await creationOptions(account);
  expect(Buffer.from(challenge, "base64url")).toHaveLength(32);
  expect(options).toMatchObject({
    rp: { id: "localhost", name: "Homeport" },
    user: { name: account.email, displayName: account.email },
    attestation: "none",
    excludeCredentials: [],
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
});

// ASVS 6.5.6
test("a passkey is added, listed, renamed and removed, and its owner learns of it", async () => {
  const account = await newAccount();
  const { passkey } = await addPasskey(account, new PasskeyAuthenticator(), "My phone");
  expect(passkey).toMatchObject({ name: "My phone", isSynced: true, transports: ["internal"], lastUsedAt: null });
  expect(await listOf(account)).toEqual([passkey]);
  const { excludeCredentials } = await creationOptions(account);
  expect(excludeCredentials).toEqual([{ id: passkey.credentialId, type: "public-key", transports: ["internal"] }]);
  expect(await (await rename(account, passkey, "Her phone")).json()).toEqual({ ...passkey, name: "Her phone" });
  expect((await remove(account, passkey)).status).toBe(204);
  expect(await listOf(account)).toEqual([]);
  expect(await eventsOf(account.id)).toEqual(["registered", "passkey_added", "passkey_removed"]);
  const isTold = (what: RegExp) => mailbox.to(account.email).some((message) => what.test(message));
  await expect.poll(() => [isTold(/use a passkey/), isTold(/passkey was removed/)]).toEqual([true, true]);
});

test("a passkey without a name is named after the browser", async () => {
  const account = await newAccount();
  const passkey = new PasskeyAuthenticator().create(await creationOptions(account));
  const headers = { "user-agent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) Chrome/140.0.0.0 Safari/537.36" };
  const added = await post(PATH, { passkey }, { token: account.token, headers });
  expect(await added.json()).toMatchObject({ name: "Chrome, macOS" });
});

test("a password manager may add a passkey without asking, and only in answer to such options", async () => {
  const account = await newAccount();
  const authenticator = new PasskeyAuthenticator();
  const silent = { isUserPresent: false, isUserVerified: false };
  const add = async (asked: boolean, conditional: boolean) => {
    const options = await creationOptions(account, { conditional: asked });
    const passkey = authenticator.create(options, silent);
    return { options, response: await post(PATH, { passkey, conditional }, { token: account.token }) };
  };
  for (const [asked, conditional, reason] of [
    [false, false, "user_not_verified"],
    [false, true, "challenge_invalid"],
    [true, false, "challenge_invalid"],
  ] as const) {
    const { response } = await add(asked, conditional);
    expect(await response.json()).toMatchObject({ code: "passkey_invalid", reason });
  }
  const { options, response } = await add(true, true);
  expect(options.authenticatorSelection).toMatchObject({ residentKey: "required", userVerification: "preferred" });
  expect(response.status).toBe(201);
  const signIn = async (forgery: object) => {
    const passkey = authenticator.get(await signInOptions(), forgery);
    return (await post(`${PATH}/sign-in`, { passkey })).status;
  };
  expect([await signIn({ isUserVerified: false }), await signIn({})]).toEqual([422, 200]);
});

// ASVS 7.4.3
test("removing a passkey signs out the other sessions", async () => {
  const account = await newAccount();
  const { passkey } = await addPasskey(account);
  const { email, password } = account;
  const { token } = await (await post("/api/auth/login", { email, password })).json();
  await remove(account, passkey);
  expect([(await get(PATH, { token })).status, (await get(PATH, { token: account.token })).status]).toEqual([401, 200]);
});

// ASVS 7.5.1
test("without a recent sign-in, a passkey is neither added nor removed", async () => {
  const account = await newAccount();
  const { passkey } = await addPasskey(account);
  clock.advance(11 * 60_000);
  const refused = [await post(`${PATH}/options`, {}, { token: account.token }), await remove(account, passkey)];
  for (const response of refused) {
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: "reauthentication_required" });
  }
  const { password, token } = account;
  expect((await post(`${PATH}/options`, { password }, { token })).status).toBe(200);
});

test("another account's passkey cannot be seen, renamed or removed", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const { passkey } = await addPasskey(ann);
  expect(await listOf(bob)).toEqual([]);
  for (const response of [await rename(bob, passkey, "Mine"), await remove(bob, passkey)]) {
    expect(response.status).toBe(404);
  }
  expect(await listOf(ann)).toEqual([passkey]);
});

test("the last way to sign in cannot be removed, not even by concurrent requests", async () => {
  const account = await newAccount();
  const passkeys = [(await addPasskey(account)).passkey, (await addPasskey(account)).passkey];
  await ctx().db.account.update({ where: { id: account.id }, data: { passwordHash: null } });
  const statuses = (await Promise.all(passkeys.map((passkey) => remove(account, passkey)))).map(({ status }) => status);
  expect(statuses.sort()).toEqual([204, 409]);
  const [last] = await listOf(account);
  expect(await (await remove(account, last as Passkey)).json()).toMatchObject({ code: "last_sign_in_method" });
});

test("an account has at most 20 passkeys", async () => {
  const account = await newAccount();
  for (let i = 0; i < 20; i++) await addPasskey(account);
  const passkey = new PasskeyAuthenticator().create(await creationOptions(account));
  const refused = await post(PATH, { passkey }, { token: account.token });
  expect([refused.status, await refused.json()]).toMatchObject([409, { code: "passkey_limit_reached" }]);
});

test("the export lists passkeys without their keys, and deleting the account deletes them", async () => {
  const account = await newAccount();
  const { passkey } = await addPasskey(account, new PasskeyAuthenticator(), "My phone");
  const exported = await (await get("/api/auth/account/export", { token: account.token })).json();
  expect(exported.factors.passkeys).toMatchObject([{ name: "My phone", isSynced: true }]);
  const { publicKey } = await ctx().db.passkey.findUniqueOrThrow({ where: { id: passkey.id } });
  expect(JSON.stringify(exported)).not.toContain("publicKey");
  expect(publicKey.length).toBeGreaterThan(0);
  const { password, token } = account;
  expect((await post("/api/auth/account/delete", { confirm: "DELETE", password }, { token })).status).toBe(200);
  expect(await ctx().db.passkey.count({ where: { accountId: account.id } })).toBe(0);
});
