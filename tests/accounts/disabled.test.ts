import { describe, expect, test } from "vitest";
import { disableAccount, enableAccount } from "@/lib/accounts/admin/change-account";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { answerOf, get, post } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { Jar, SESSION_COOKIE, session, signIn, signInWith } from "@/tests/support/auth/browser";
import { errorOf, googlePerson, markVerified, setUpProviders } from "@/tests/support/auth/providers";
import { ctx } from "@/tests/support/context";
import { registeredDevice } from "@/tests/support/push/push";

const { google } = await setUpProviders();

const logIn = ({ email, password }: Pick<TestAccount, "email" | "password">) =>
  post("/api/auth/login", { email, password });
const sessionsOf = ({ id }: TestAccount) => ctx().db.session.count({ where: { accountId: id, revokedAt: null } });

describe("a disabled account", () => {
  // ASVS 7.4.2
  test("has no live session and no device from that moment on", async () => {
    const account = await newAccount();
    await registeredDevice(account);
    expect(await disableAccount(ctx(), OPERATOR, account.id)).toMatchObject({ sessionsEnded: 1, devicesRemoved: 1 });
    expect((await get("/api/subscription/status", { token: account.token })).status).toBe(401);
    expect(await sessionsOf(account)).toBe(0);
    expect(await ctx().db.pushDevice.count({ where: { accountId: account.id } })).toBe(0);
    expect(await eventsOf(account.id)).toEqual(["registered", "account_disabled", "signed_out"]);
    expect(await disableAccount(ctx(), OPERATOR, account.id)).toMatchObject({ isChanged: false });
  });

  test("gets an error that says so after the right password alone, and no session", async () => {
    const account = await newAccount();
    await disableAccount(ctx(), OPERATOR, account.id);
    expect(await answerOf(await logIn(account))).toMatchObject({ status: 403, body: { code: "account_disabled" } });
    const guessed = await logIn({ ...account, password: "a wrong one" });
    expect(guessed.status).toBe(401);
    expect(await guessed.json()).toMatchObject({ code: "invalid_credentials" });
    const jar = new Jar();
    const { url } = await (await signIn(jar, account)).json();
    expect(new URL(url).searchParams.get("error")).toBe("account_disabled");
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    expect(await sessionsOf(account)).toBe(0);
  });

  test("cannot sign in with a provider, and no provider is linked to it", async () => {
    const account = await newAccount();
    await markVerified(account.id);
    await disableAccount(ctx(), OPERATOR, account.id);
    const jar = new Jar();
    google.person = googlePerson(account.email);
    expect(errorOf(await signInWith(google, jar))).toBe("account_disabled");
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    expect(await ctx().db.identity.count({ where: { accountId: account.id } })).toBe(0);
  });

  // ASVS 7.4.2
  test("has no session that was being created when it was disabled", async () => {
    for (let round = 0; round < 2; round++) {
      const account = await newAccount();
      const attempts = Array.from({ length: 4 }, () => logIn(account));
      await Promise.all([...attempts, disableAccount(ctx(), OPERATOR, account.id)]);
      expect(await sessionsOf(account)).toBe(0);
    }
  });

  test("can sign in again once it is enabled, with the data that it had", async () => {
    const account = await newAccount();
    await disableAccount(ctx(), OPERATOR, account.id);
    expect(await enableAccount(ctx(), OPERATOR, account.id)).toMatchObject({ isChanged: true });
    expect(await enableAccount(ctx(), OPERATOR, account.id)).toMatchObject({ isChanged: false });
    const { user } = await (await logIn(account)).json();
    expect(user).toMatchObject({ id: account.id, email: account.email });
    expect((await get("/api/subscription/status", { token: account.token })).status).toBe(401);
    const jar = new Jar();
    await signIn(jar, account);
    expect(await session(jar)).toMatchObject({ user: { id: account.id } });
  });
});
