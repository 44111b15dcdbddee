import { expect, test } from "vitest";
import { eventsOf, newAccount, requestReset } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { alignClock, challengeOf, meet, newProtectedAccount } from "@/tests/support/auth/authenticator";
import { clock, ctx } from "@/tests/support/context";

const MINUTE_MS = 60_000;

const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;
const sessionCount = (accountId: string) => ctx().db.session.count({ where: { accountId } });

// ASVS 6.3.3
test("after the password there is a challenge and no session; the code of the app completes the sign-in", async () => {
  const { app, id, email, password } = await newProtectedAccount();
  const sessions = await sessionCount(id);
  const refused = await post("/api/auth/login", { email, password, deviceName: "Ann's phone" });
  expect(refused.status).toBe(401);
  expect(refused.headers.getSetCookie()).toEqual([]);
  const problem = await refused.json();
  expect(problem).toMatchObject({
    code: "second_factor_required",
    factors: ["totp", "recovery_code"],
    challenge: expect.stringMatching(/^[\w-]{43}$/),
  });
  expect(new Date(problem.expiresAt).getTime()).toBeGreaterThan(clock.now().getTime());
  expect(problem.token).toBeUndefined();
  expect(await sessionCount(id)).toBe(sessions);

  const response = await meet(problem.challenge, { code: app.code() });
  expect(response.status).toBe(200);
  const auth = await response.json();
  expect(auth).toMatchObject({ user: { id, email }, session: { transport: "token" }, tokenType: "Bearer" });
  expect((await get("/api/push/devices", { token: auth.token })).status).toBe(200);
  const row = await ctx().db.session.findUniqueOrThrow({ where: { id: auth.session.id } });
  expect(row).toMatchObject({ aal: 2, amr: ["pwd", "otp", "mfa"], deviceName: "Ann's phone" });
});

test("a wrong password gets no challenge, and an account without a second factor signs in as before", async () => {
  const { email } = await newProtectedAccount();
  const wrong = await post("/api/auth/login", { email, password: "a wrong one" });
  expect(await wrong.json()).toEqual(expect.not.objectContaining({ challenge: expect.anything() }));
  const plain = await newAccount();
  const { session } = await (await post("/api/auth/login", plain)).json();
  const row = await ctx().db.session.findUniqueOrThrow({ where: { id: session.id } });
  expect(row).toMatchObject({ aal: 1, amr: ["pwd"] });
});

// ASVS 6.5.1
test("a code works once, also in sign-ins at the same time", async () => {
  const account = await newProtectedAccount();
  const code = account.app.code();
  const challenges = await Promise.all(Array.from({ length: 4 }, () => challengeOf(account)));
  const responses = await Promise.all(challenges.map((challenge) => meet(challenge, { code })));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
  const later = await meet(await challengeOf(account), { code });
  expect(await codeOf(later)).toBe("invalid_code");
});

// ASVS 6.5.1
test("a code that was seen over a shoulder does not work after a newer one", async () => {
  const account = await newProtectedAccount();
  alignClock();
  const seen = account.app.code();
  clock.advance(30_000);
  expect((await meet(await challengeOf(account), { code: account.app.code() })).status).toBe(200);
  expect(await codeOf(await meet(await challengeOf(account), { code: seen }))).toBe("invalid_code");
});

test("a code is typed with a space, and a challenge outlives wrong codes", async () => {
  const account = await newProtectedAccount();
  const challenge = await challengeOf(account);
  expect(await codeOf(await meet(challenge, { code: account.app.wrongCode() }))).toBe("invalid_code");
  const code = account.app.code();
  expect((await meet(challenge, { code: ` ${code.slice(0, 3)} ${code.slice(3)}` })).status).toBe(200);
});

// ASVS 6.5.8
test("an app whose clock is 40 seconds off is one step off in two of three codes, which work, and two in the third", async () => {
  const account = await newProtectedAccount();
  const results = [];
  for (const second of [0, 10, 20]) {
    for (const aheadMs of [40_000, -40_000]) {
      const challenge = await challengeOf(account);
      clock.advance(5 * MINUTE_MS);
      alignClock();
      clock.advance(second * 1000);
      const response = await meet(challenge, { code: account.app.code(aheadMs) });
      results.push([aheadMs / 1000, second, response.status]);
    }
  }
  expect(results).toEqual([
    [40, 0, 200],
    [-40, 0, 401],
    [40, 10, 200],
    [-40, 10, 200],
    [40, 20, 401],
    [-40, 20, 200],
  ]);
});

// ASVS 6.5.1, 6.5.2
test("a recovery code replaces the app, once, however it is typed", async () => {
  const account = await newProtectedAccount();
  const [first = "", second = ""] = account.recoveryCodes;
  const response = await meet(await challengeOf(account), { recoveryCode: first.toLowerCase().replaceAll("-", " ") });
  expect(response.status).toBe(200);
  const { session } = await response.json();
  const row = await ctx().db.session.findUniqueOrThrow({ where: { id: session.id } });
  expect(row).toMatchObject({ aal: 2, amr: ["pwd", "recovery", "mfa"] });
  expect(await codeOf(await meet(await challengeOf(account), { recoveryCode: first }))).toBe("invalid_code");
  const challenges = await Promise.all(Array.from({ length: 4 }, () => challengeOf(account)));
  const responses = await Promise.all(challenges.map((challenge) => meet(challenge, { recoveryCode: second })));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
  expect(await eventsOf(account.id)).toContain("recovery_code_used");
});

test("codes of another account do not complete a sign-in", async () => {
  const [ann, bob] = [await newProtectedAccount(), await newProtectedAccount()];
  const challenge = await challengeOf(ann);
  expect(await codeOf(await meet(challenge, { code: bob.app.code() }))).toBe("invalid_code");
  expect(await codeOf(await meet(challenge, { recoveryCode: bob.recoveryCodes[0] }))).toBe("invalid_code");
  expect((await meet(challenge, { code: ann.app.code() })).status).toBe(200);
});

// ASVS 6.5.5
test("a challenge works once, within ten minutes", async () => {
  const account = await newProtectedAccount();
  const challenge = await challengeOf(account);
  expect((await meet(challenge, { code: account.app.code() })).status).toBe(200);
  expect(await codeOf(await meet(challenge, { code: account.app.nextCode() }))).toBe("invalid_challenge");
  const late = await challengeOf(account);
  clock.advance(10 * MINUTE_MS);
  expect(await codeOf(await meet(late, { code: account.app.code() }))).toBe("invalid_challenge");
});

test("of two different codes for one challenge at the same time, one signs in", async () => {
  const account = await newProtectedAccount();
  const challenge = await challengeOf(account);
  const proofs = [
    { code: account.app.code() },
    ...account.recoveryCodes.slice(0, 3).map((code) => ({ recoveryCode: code })),
  ];
  const responses = await Promise.all(proofs.map((proof) => meet(challenge, proof)));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
});

// ASVS 6.4.3
test("a password reset removes no factor, and closes the challenges of before", async () => {
  const account = await newProtectedAccount();
  await ctx().db.account.update({ where: { id: account.id }, data: { emailVerifiedAt: clock.now() } });
  const challenge = await challengeOf(account);
  const token = await requestReset(account.email);
  const password = "an entirely new password";
  expect((await post("/api/auth/reset/confirm", { token, password })).status).toBe(200);
  expect(await codeOf(await meet(challenge, { code: account.app.code() }))).toBe("invalid_challenge");
  const next = await challengeOf({ ...account, password });
  expect((await meet(next, { code: account.app.code() })).status).toBe(200);
});

test("a body without a factor, or with several, is invalid, and uses nothing up", async () => {
  const account = await newProtectedAccount();
  const challenge = await challengeOf(account);
  const code = account.app.code();
  const bodies = [
    {},
    { code, recoveryCode: account.recoveryCodes[0] },
    { code: "12345" },
    { code: 123456 },
    { recoveryCode: "x".repeat(65) },
  ];
  for (const proof of bodies) expect(await codeOf(await meet(challenge, proof))).toBe("validation_failed");
  expect((await meet(challenge, { code })).status).toBe(200);
});

test("unknown challenges are counted by client", async () => {
  const ip = "192.0.2.77";
  const guess = () => post("/api/auth/login/factor", { challenge: crypto.randomUUID(), code: "000000" }, { ip });
  for (let i = 0; i < 60; i++) expect((await guess()).status).toBe(401);
  expect((await guess()).status).toBe(429);
  expect((await post("/api/auth/login/factor", { code: "000000" })).status).toBe(401);
});
