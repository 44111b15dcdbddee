import { expect, test } from "vitest";
import { AppError } from "@/lib/errors";
import { eventsOf, newAccount, requestReset } from "@/tests/support/accounts";
import { answerOf, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { newProtectedAccount } from "@/tests/support/auth/authenticator";
import { PasskeyAuthenticator } from "@/tests/support/auth/passkey-authenticator";
import { clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { flashOf, submit } from "@/tests/support/web/forms";

const DAY_MS = 24 * 60 * 60 * 1000;
const PASSWORD = "an entirely new password";
const WRONG = { status: 401, body: { code: "invalid_code" } };

const needingCodes = (run: () => Promise<void>) =>
  withContext({ config: { ...ctx().config, AUTH_LINKS_NEED_CODE: true } }, () => run().finally(clock.reset));

const reset = async (token: string, code?: string) =>
  answerOf(await post("/api/auth/reset/confirm", { token, password: PASSWORD, code }));
const signIn = async (email: string) => (await post("/api/auth/login", { email, password: PASSWORD })).status;

async function makeCode(accountId: string) {
  const { key } = await newKey({ scopes: ["accounts:write"] });
  return answerOf(await post(`/api/admin/accounts/${accountId}/recovery-code`, undefined, { token: key }));
}

/** An account without a password, and the token of its emailed invitation. */
async function invited() {
  const email = `invited-${crypto.randomUUID()}@example.com`;
  const { key } = await newKey({ scopes: ["accounts:write"] });
  const { body } = await answerOf(await post("/api/admin/accounts", { email, invite: true }, { token: key }));
  const tokens = () => mailbox.to(email).flatMap((one) => /\/invitation#token=([\w-]{43})/.exec(one)?.[1] ?? []);
  await expect.poll(() => tokens().length).toBe(1);
  return { id: body.account.id as string, email, token: tokens()[0] ?? "" };
}

// ASVS 6.3.6
test("a mailbox alone sets no password and no passkey, if that is configured", () =>
  needingCodes(async () => {
    const { email } = await newAccount();
    const token = await requestReset(email);
    expect(await reset(token)).toMatchObject({ status: 422, body: { errors: [{ pointer: "/code" }] } });
    expect(await reset(token, "123456")).toMatchObject(WRONG);
    expect(await reset(token, "7K3M9Q-WX2B4N-0R5T8V-C1D6FG")).toMatchObject(WRONG);
    expect(await signIn(email)).toBe(401);

    const owner = await invited();
    const options = await post("/api/auth/passkeys/invitation/options", { token: owner.token });
    const passkey = new PasskeyAuthenticator().create(await options.json());
    expect(await answerOf(await post("/api/auth/invitation", { token: owner.token, passkey }))).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "/code" }] },
    });
    const form = await submit("invitation", { token: owner.token, password: PASSWORD, code: "wrong" });
    expect(flashOf(form)?.fields).toEqual({ code: expect.stringContaining("wrong, used or expired") });
    expect(await ctx().db.passkey.count({ where: { accountId: owner.id } })).toBe(0);
    expect(await signIn(owner.email)).toBe(401);
  }));

test("a reset takes a code of the authenticator app or a recovery code, once, if codes are configured", () =>
  needingCodes(async () => {
    const { id, email, app, recoveryCodes } = await newProtectedAccount();
    await ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: clock.now() } });
    const code = app.code();
    expect(await reset(await requestReset(email), code)).toMatchObject({ status: 200 });
    clock.advance(DAY_MS);
    const token = await requestReset(email, 2);
    expect(await reset(token, code)).toMatchObject(WRONG);
    expect(await reset(token, recoveryCodes[0])).toMatchObject({ status: 200 });
    clock.advance(DAY_MS);
    expect(await reset(await requestReset(email, 3), recoveryCodes[0])).toMatchObject(WRONG);
  }));

test("a code is not used up by a request that is refused for now", () =>
  needingCodes(async () => {
    const { email, recoveryCodes } = await newProtectedAccount();
    const token = await requestReset(email);
    const hash = () => Promise.reject(new AppError("overloaded"));
    const [code = ""] = recoveryCodes;
    const refused = await withContext({ hasher: { ...ctx().hasher, hash } }, () => reset(token, code));
    expect(refused).toMatchObject({ status: 503, body: { code: "overloaded" } });
    expect(await reset(token, code)).toMatchObject({ status: 200 });
  }));

test("a recovery code is not used up if the link is not, and works once", () =>
  needingCodes(async () => {
    const { id, email, recoveryCodes } = await newProtectedAccount();
    await ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: clock.now() } });
    const token = await requestReset(email);
    const [code = ""] = recoveryCodes;
    const enqueue = () => Promise.reject(new AppError("unavailable"));
    const failed = await withContext({ emails: { ...ctx().emails, enqueue } }, () => reset(token, code));
    expect(failed).toMatchObject({ status: 503 });
    expect(await eventsOf(id)).not.toContain("recovery_code_used");
    expect(await reset(token, code)).toMatchObject({ status: 200 });
    expect((await eventsOf(id)).filter((type) => type === "recovery_code_used")).toHaveLength(1);
    clock.advance(DAY_MS);
    expect(await reset(await requestReset(email, 2), code)).toMatchObject(WRONG);
  }));

// ASVS 6.3.6
test("the code of an operator works once within a week, with the link", () =>
  needingCodes(async () => {
    const { id, email, token } = await invited();
    const earlier = await makeCode(id);
    const made = await makeCode(id);
    expect(made).toMatchObject({ status: 200, body: { account: { email } } });
    expect(Math.round((Date.parse(made.body.expiresAt) - clock.now().getTime()) / DAY_MS)).toBe(7);
    const accept = async (code: string) =>
      answerOf(await post("/api/auth/invitation", { token, password: PASSWORD, code }));
    expect(await accept(earlier.body.recoveryCode)).toMatchObject(WRONG);
    expect(await accept(made.body.recoveryCode)).toMatchObject({ status: 200 });
    expect(await signIn(email)).toBe(200);
    expect(await reset(await requestReset(email), made.body.recoveryCode)).toMatchObject(WRONG);
    expect(await eventsOf(id)).toContain("recovery_code_created");

    const other = await newAccount();
    const late = await makeCode(other.id);
    clock.advance(7 * DAY_MS + 1);
    expect(await reset(await requestReset(other.email), late.body.recoveryCode)).toMatchObject(WRONG);
  }));

test("an operator makes no code for an account that has an authenticator app", async () => {
  const { id } = await newProtectedAccount();
  expect(await makeCode(id)).toMatchObject({ status: 409, body: { code: "factor_exists" } });
});
