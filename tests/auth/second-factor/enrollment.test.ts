import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { resetFactors } from "@/lib/accounts/admin/change-account";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { Authenticator, challengeOf, meet, newProtectedAccount } from "@/tests/support/auth/authenticator";
import { addPasskey } from "@/tests/support/auth/passkeys";
import { clock, ctx } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

type Enrollment = { id: string; secret: string; uri: string; qrCode: string };
type Session = Pick<TestAccount, "token">;

const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;
const start = ({ token }: Session, proof: object = {}) => post("/api/auth/factors/totp", proof, { token });
const confirm = ({ token }: Session, id: string, code: string) =>
  post("/api/auth/factors/totp/confirm", { id, code }, { token });
const remove = ({ token }: Session, json: object = {}) => call("DELETE", "/api/auth/factors/totp", { token, json });
const renew = ({ token }: Session, proof: object = {}) => post("/api/auth/factors/recovery-codes", proof, { token });
const factorsOf = async ({ token }: Session) => (await get("/api/auth/factors", { token })).json();

async function started(account: Session): Promise<Enrollment> {
  const response = await start(account);
  expect(response.status).toBe(201);
  return (await response.json()) as Enrollment;
}

/** A new account that adds an authenticator app over the API. */
async function enrolled() {
  const account = await newAccount();
  const { id, secret } = await started(account);
  const app = new Authenticator(secret);
  const response = await confirm(account, id, app.code());
  expect(response.status).toBe(200);
  return { ...account, app, ...((await response.json()) as { recoveryCodes: string[] }) };
}

/** Signs in with both factors. Returns the bearer token. */
async function signedIn(account: TestAccount & { app: Authenticator }): Promise<Session> {
  return (await meet(await challengeOf(account), { code: account.app.nextCode() })).json();
}

describe("an authenticator app", () => {
  test("counts from its first code on, and comes with ten recovery codes", async () => {
    const account = await newAccount();
    const enrollment = await started(account);
    expect(new URL(enrollment.uri).searchParams.get("secret")).toBe(enrollment.secret);
    expect(enrollment.qrCode).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 (\d+) \1"/);
    expect(await factorsOf(account)).toEqual({ totp: null, recoveryCodes: null, passkeys: [] });
    expect((await post("/api/auth/login", account)).status).toBe(200);

    const app = new Authenticator(enrollment.secret);
    const { recoveryCodes } = await (await confirm(account, enrollment.id, app.code())).json();
    expect(new Set(recoveryCodes).size).toBe(10);
    for (const code of recoveryCodes) expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{6}(-[0-9A-HJKMNP-TV-Z]{6}){3}$/);
    expect(await factorsOf(account)).toMatchObject({ totp: { id: enrollment.id }, recoveryCodes: { remaining: 10 } });
    expect((await post("/api/auth/login", account)).status).toBe(401);
    expect(await mailbox.waitFor(account.email)).toContain("uthenticator");
    expect(await eventsOf(account.id)).toContain("totp_added");
  });

  test("is confirmed by a code that does not sign in afterwards", async () => {
    const account = await newAccount();
    const { id, secret } = await started(account);
    const code = new Authenticator(secret).code();
    await confirm(account, id, code);
    expect(await codeOf(await meet(await challengeOf(account), { code }))).toBe("invalid_code");
  });

  test("makes the session that added it one of two factors", async () => {
    const account = await enrolled();
    const row = await ctx().db.session.findUniqueOrThrow({ where: { id: account.sessionId } });
    expect(row).toMatchObject({ aal: 2, amr: ["pwd", "otp", "mfa"] });
    expect((await renew(account)).status).toBe(200);
  });

  test("is stored encrypted, and recovery codes as hashes", async () => {
    const account = await newAccount();
    const { id, secret } = await started(account);
    const { recoveryCodes } = await (await confirm(account, id, new Authenticator(secret).code())).json();
    const rows = JSON.stringify([
      await ctx().db.totpFactor.findMany({ where: { accountId: account.id } }),
      await ctx().db.recoveryCode.findMany({ where: { accountId: account.id } }),
    ]);
    for (const plain of [secret, ...recoveryCodes]) expect(rows).not.toContain(plain);
  });

  test("is not added by a wrong code, by a late one, or by one of another enrollment", async () => {
    const account = await newAccount();
    const [first, second] = [await started(account), await started(account)];
    const app = new Authenticator(first.secret);
    expect(await codeOf(await confirm(account, first.id, app.wrongCode()))).toBe("invalid_code");
    expect(await codeOf(await confirm(account, second.id, app.code()))).toBe("invalid_code");
    expect(await codeOf(await confirm(account, randomUUID(), app.code()))).toBe("enrollment_expired");
    clock.advance(10 * MINUTE_MS);
    expect(await codeOf(await confirm(account, first.id, app.code()))).toBe("enrollment_expired");
    expect(await factorsOf(account)).toEqual({ totp: null, recoveryCodes: null, passkeys: [] });
  });

  test("of two tabs that enroll at once, one is added, and its recovery codes stay", async () => {
    const account = await newAccount();
    const tabs = await Promise.all([started(account), started(account)]);
    expect(tabs[0].secret).not.toBe(tabs[1].secret);
    const responses = await Promise.all(
      tabs.map(({ id, secret }) => confirm(account, id, new Authenticator(secret).code())),
    );
    const winner = responses.findIndex(({ status }) => status === 200);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await ctx().db.totpFactor.count({ where: { accountId: account.id } })).toBe(1);
    const confirmed = (await responses[winner]?.json()) as { recoveryCodes: string[] };
    const [recoveryCode] = confirmed.recoveryCodes;
    expect((await meet(await challengeOf(account), { recoveryCode })).status).toBe(200);
    const app = new Authenticator(tabs[winner]?.secret ?? "");
    expect((await meet(await challengeOf(account), { code: app.nextCode() })).status).toBe(200);
    expect(await codeOf(await start(account))).toBe("factor_exists");
  });

  test("that is confirmed twice at once is added once", async () => {
    const account = await newAccount();
    const { id, secret } = await started(account);
    const code = new Authenticator(secret).code();
    const responses = await Promise.all([1, 2, 3].map(() => confirm(account, id, code)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });
});

describe("a stolen session", () => {
  test("of ten days cannot add, remove or replace a factor without a proof", async () => {
    const account = await newAccount();
    clock.advance(10 * DAY_MS);
    const refused = await start(account);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      code: "reauthentication_required",
      errors: [{ pointer: "/password", code: "required" }],
    });
    expect((await start(account, { password: "a wrong guess" })).status).toBe(403);
    expect((await start(account, { password: account.password })).status).toBe(201);

    const other = await enrolled();
    clock.advance(10 * DAY_MS);
    expect((await remove(other)).status).toBe(403);
    expect((await renew(other)).status).toBe(403);
    expect(await factorsOf(other)).toMatchObject({ totp: {}, recoveryCodes: { remaining: 10 } });
  });

  test("cannot confirm what another session of the account has started", async () => {
    const account = await newAccount();
    const { id, secret } = await started(account);
    const stolen = await (await post("/api/auth/login", account)).json();
    expect(await codeOf(await confirm(stolen, id, new Authenticator(secret).code()))).toBe("enrollment_expired");
  });
});

test("new recovery codes replace the old ones, and there are none without an app", async () => {
  expect(await codeOf(await renew(await newAccount()))).toBe("no_second_factor");
  const account = await enrolled();
  const [old = ""] = account.recoveryCodes;
  const { recoveryCodes } = await (await renew(account)).json();
  expect(recoveryCodes).not.toContain(old);
  expect(await codeOf(await meet(await challengeOf(account), { recoveryCode: old }))).toBe("invalid_code");
  expect((await meet(await challengeOf(account), { recoveryCode: recoveryCodes[0] })).status).toBe(200);
  expect(await factorsOf(account)).toMatchObject({ recoveryCodes: { remaining: 9 } });
  expect(await eventsOf(account.id)).toContain("recovery_codes_renewed");
});

test("without the app, signing in needs no second factor, and another app can be added", async () => {
  const account = await enrolled();
  expect((await remove(await signedIn(account))).status).toBe(204);
  expect((await remove(account)).status).toBe(404);
  expect(await factorsOf(account)).toEqual({ totp: null, recoveryCodes: null, passkeys: [] });
  expect((await post("/api/auth/login", account)).status).toBe(200);
  expect(await eventsOf(account.id)).toContain("totp_removed");
  await expect.poll(() => mailbox.to(account.email).length).toBe(2);
  const { id, secret } = await started(account);
  expect((await confirm(account, id, new Authenticator(secret).code())).status).toBe(200);
});

test("an operator's reset of an account's factors ends its sessions, is recorded, and sends an email", async () => {
  const account = await enrolled();
  await addPasskey(account);
  await mailbox.waitFor(account.email, 2);
  expect(await resetFactors(ctx(), OPERATOR, account.id)).toMatchObject({ isChanged: true, sessionsEnded: 1 });
  expect((await get("/api/auth/factors", { token: account.token })).status).toBe(401);
  expect((await post("/api/auth/login", account)).status).toBe(200);
  const event = await ctx().db.auditEvent.findFirstOrThrow({ where: { accountId: account.id, type: "factors_reset" } });
  expect(event).toMatchObject({ actor: "operator", details: { hadTotp: true, passkeys: 1 } });
  expect(await ctx().db.passkey.count({ where: { accountId: account.id } })).toBe(0);
  await mailbox.waitFor(account.email, 3);
  await expect(resetFactors(ctx(), OPERATOR, account.id)).rejects.toMatchObject({ code: "no_second_factor" });
});

test("enrollments and sign-ins that were not completed are removed, and factors are kept", async () => {
  const [account, abandoned] = [await newProtectedAccount(), await newAccount()];
  await started(abandoned);
  await challengeOf(account);
  const { db } = ctx();
  const count = async () => [
    await db.totpFactor.count({ where: { accountId: abandoned.id } }),
    await db.signInChallenge.count({ where: { accountId: account.id } }),
    await db.totpFactor.count({ where: { accountId: account.id } }),
  ];
  await removeExpiredRows(ctx());
  expect(await count()).toEqual([1, 1, 1]);
  clock.advance(10 * MINUTE_MS + 1000);
  await removeExpiredRows(ctx());
  expect(await count()).toEqual([0, 0, 1]);
});

test("enrollments are limited", async () => {
  const account = await newAccount();
  for (let i = 0; i < 20; i++) await started(account);
  expect((await start(account)).status).toBe(429);
});

test("the export has the factors without their secrets, and deleting the account removes them", async () => {
  const account = await enrolled();
  const text = await (await get("/api/auth/account/export", { token: account.token })).text();
  expect(JSON.parse(text).factors).toMatchObject({ totp: {}, recoveryCodes: { remaining: 10 } });
  const { secret } = await ctx().db.totpFactor.findFirstOrThrow({ where: { accountId: account.id } });
  expect(text).not.toContain(secret);
  await post("/api/auth/account/delete", { confirm: "DELETE", password: account.password }, { token: account.token });
  expect(await ctx().db.totpFactor.count({ where: { accountId: account.id } })).toBe(0);
  expect(await ctx().db.recoveryCode.count({ where: { accountId: account.id } })).toBe(0);
});
