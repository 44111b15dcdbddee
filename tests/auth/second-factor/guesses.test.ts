import { expect, test } from "vitest";
import { eventsOf } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { challengeOf, meet, newProtectedAccount, type ProtectedAccount } from "@/tests/support/auth/authenticator";
import { clock } from "@/tests/support/context";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Sends guesses, with a new challenge each time. Returns the statuses. */
async function guess(account: ProtectedAccount, times: number, proof: () => object): Promise<number[]> {
  const statuses = [];
  for (let i = 0; i < times; i++) statuses.push((await meet(await challengeOf(account), proof())).status);
  return statuses;
}

const wrongRecoveryCode = (i: number) => String(i).padStart(24, "0");
const countOf = (statuses: number[], status: number) => statuses.filter((one) => one === status).length;

test("five wrong codes are free, then each one waits, twice as long as the one before", async () => {
  const account = await newProtectedAccount();
  const wrong = () => ({ code: account.app.wrongCode() });
  expect(await guess(account, 6, wrong)).toEqual([401, 401, 401, 401, 401, 429]);
  const refused = await meet(await challengeOf(account), { code: account.app.code() });
  expect(refused.status).toBe(429);
  const seconds = Number(refused.headers.get("retry-after")); // one minute, less what the test took since
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(await refused.json()).toMatchObject({ detail: expect.stringContaining("recovery code") });
  clock.advance(MINUTE_MS);
  expect(await guess(account, 2, wrong)).toEqual([401, 429]);
  clock.advance(2 * MINUTE_MS);
  expect((await meet(await challengeOf(account), { code: account.app.code() })).status).toBe(200);
  expect(countOf(await guess(account, 5, wrong), 401)).toBe(5);
});

test("in five days of guessing, fewer than thirty codes are checked", async () => {
  const account = await newProtectedAccount();
  const end = clock.offsetMs + 5 * 24 * HOUR_MS;
  let checked = 0;
  while (clock.offsetMs < end) {
    const { status, headers } = await meet(await challengeOf(account), { code: account.app.wrongCode() });
    if (status === 401) checked += 1;
    else clock.advance(Number(headers.get("retry-after")) * 1000);
  }
  expect(checked).toBeLessThan(30);
});

// ASVS 6.5.4
test("of a hundred recovery codes that are guessed, ten are checked, and the app still signs in", async () => {
  const account = await newProtectedAccount();
  const challenge = await challengeOf(account);
  const statuses = [];
  for (let i = 0; i < 100; i++) statuses.push((await meet(challenge, { recoveryCode: wrongRecoveryCode(i) })).status);
  expect([countOf(statuses, 401), countOf(statuses, 429)]).toEqual([10, 90]);
  expect((await meet(challenge, { recoveryCode: account.recoveryCodes[0] })).status).toBe(429);
  expect((await meet(challenge, { code: account.app.code() })).status).toBe(200);
  expect((await eventsOf(account.id)).filter((type) => type === "second_factor_failed")).toHaveLength(10);
});

test("guesses at the same time are counted, too", async () => {
  const account = await newProtectedAccount();
  const challenge = await challengeOf(account);
  const guesses = Array.from({ length: 40 }, (_, i) => ({ code: String(100_000 + i) }));
  const responses = await Promise.all(guesses.map((proof) => meet(challenge, proof)));
  expect(responses.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(5);
});

test("wrong codes of one account do not hold another back", async () => {
  const [ann, bob] = [await newProtectedAccount(), await newProtectedAccount()];
  await guess(ann, 6, () => ({ code: ann.app.wrongCode() }));
  expect((await meet(await challengeOf(bob), { code: bob.app.code() })).status).toBe(200);
});

test("guesses by a session do not hold back the owner's sign-in", async () => {
  const account = await newProtectedAccount();
  const guessInSession = (proof: object) => post("/api/auth/reauthenticate", proof, { token: account.token });
  const statuses = [];
  for (let i = 0; i < 12; i++) {
    statuses.push((await guessInSession({ code: account.app.wrongCode() })).status);
    statuses.push((await guessInSession({ recoveryCode: wrongRecoveryCode(i) })).status);
  }
  expect(countOf(statuses, 429)).toBeGreaterThan(0);
  expect((await meet(await challengeOf(account), { code: account.app.code() })).status).toBe(200);
  expect((await meet(await challengeOf(account), { recoveryCode: account.recoveryCodes[0] })).status).toBe(200);
});
