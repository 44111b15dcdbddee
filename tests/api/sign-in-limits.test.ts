import { describe, expect, test } from "vitest";
import { AppError } from "@/lib/errors";
import { newAccount } from "../support/accounts";
import { get, post } from "../support/api";
import { clock, ctx, withContext } from "../support/context";
import { mailbox } from "../support/mailbox";

const MINUTE_MS = 60_000;
const unknown = () => `nobody-${crypto.randomUUID()}@example.com`;
const logIn = (email: string, password = "wrong password") => post("/api/auth/login", { email, password });
const throttleOf = (email: string) =>
  ctx().db.signInThrottle.findUnique({ where: { key: ctx().limits.privateKey(email) } });

/** So many failures in a row, without the work of comparing. */
async function fail(email: string, times: number): Promise<void> {
  await withContext({ hasher: { ...ctx().hasher, compare: async () => false } }, async () => {
    for (let i = 0; i < times; i++) expect((await logIn(email)).status).toBe(401);
  });
}

async function waitSeconds(email: string): Promise<number> {
  const response = await logIn(email);
  expect(response.status).toBe(429);
  expect(response.headers.get("ratelimit")).toBe(`"loginByEmail";r=0;t=${response.headers.get("retry-after")}`);
  return Number(response.headers.get("retry-after"));
}

describe("after ten failures", () => {
  test("each further one costs a wait of twice the last, and Retry-After says how long", async () => {
    const email = unknown();
    await fail(email, 10);
    for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const seconds = await waitSeconds(email);
      expect(seconds).toBeGreaterThan((minutes - 1) * 60);
      expect(seconds).toBeLessThanOrEqual(minutes * 60);
      clock.advance(seconds * 1000);
      await fail(email, 1);
    }
  });

  test("the right password has to wait as well, signs in then, and all is forgotten", async () => {
    const { email, password } = await newAccount();
    await fail(email, 10);
    const seconds = await waitSeconds(email);
    expect((await logIn(email, password)).status).toBe(429);
    clock.advance(seconds * 1000);
    expect((await logIn(email, password)).status).toBe(200);
    expect(await throttleOf(email)).toBeNull();
    await fail(email, 9);
  });

  test("a wait that has passed does not give ten more, until a day has", async () => {
    const email = unknown();
    await fail(email, 10);
    clock.advance(60 * MINUTE_MS);
    await fail(email, 1);
    await waitSeconds(email);
    clock.advance(24 * 60 * MINUTE_MS);
    await fail(email, 10);
    await waitSeconds(email);
  });

  test("a reset stays open, and lets its owner sign in without the wait", async () => {
    const { email } = await newAccount();
    await fail(email, 10);
    await waitSeconds(email);
    expect((await post("/api/auth/reset/request", { email })).status).toBe(202);
    const [, token] = /#token=([\w-]+)/.exec(await mailbox.waitFor(email)) ?? [];
    const password = "a password that nobody guesses";
    expect((await post("/api/auth/reset/confirm", { token: "x", password })).status).toBe(400);
    await waitSeconds(email);
    expect((await post("/api/auth/reset/confirm", { token, password })).status).toBe(200);
    expect((await logIn(email, password)).status).toBe(200);
  });
});

test("failures that lie more than a quarter of an hour apart are not added up", async () => {
  const email = unknown();
  for (let i = 0; i < 3; i++) {
    await fail(email, 9);
    clock.advance(15 * MINUTE_MS);
  }
  await fail(email, 1);
});

test("of a burst at one moment ten are let in, and no more", async () => {
  const { email } = await newAccount();
  const answers = await Promise.all(Array.from({ length: 30 }, () => logIn(email)));
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([...Array(10).fill(401), ...Array(20).fill(429)]);
});

test("what found the service too busy, or the database gone, is no failure of anybody's", async () => {
  const { email, password } = await newAccount();
  const address = "203.0.113.99";
  for (const code of ["overloaded", "unavailable"] as const) {
    const compare = () => Promise.reject(new AppError(code));
    await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
      for (let i = 0; i < 70; i++) {
        expect((await post("/api/auth/login", { email, password }, { address })).status).toBe(503);
      }
    });
  }
  expect((await throttleOf(email))?.failures).toBe(0);
  expect((await post("/api/auth/login", { email, password }, { address })).status).toBe(200);
});

test("a busy moment during a wait does not make the wait longer", async () => {
  const { email, password } = await newAccount();
  await fail(email, 10);
  clock.advance((await waitSeconds(email)) * 1000);
  const compare = () => Promise.reject(new AppError("overloaded"));
  await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
    expect((await logIn(email, password)).status).toBe(503);
  });
  expect((await logIn(email, password)).status).toBe(200);
});

test("a deletion that found the service too busy is not counted either", async () => {
  const { id, password, token } = await newAccount();
  const remove = (given: string) => post("/api/auth/account/delete", { confirm: "DELETE", password: given }, { token });
  const compare = () => Promise.reject(new AppError("overloaded"));
  await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
    for (let i = 0; i < 6; i++) expect((await remove(password)).status).toBe(503);
  });
  for (let i = 0; i < 5; i++) expect((await remove("a wrong one")).status).toBe(403);
  expect((await remove(password)).status).toBe(429);
  expect(await ctx().db.account.count({ where: { id } })).toBe(1);
});

test("a reset may be confirmed ten times in a quarter of an hour from one address", async () => {
  const address = "203.0.113.98";
  const confirm = () =>
    post("/api/auth/reset/confirm", { token: "x", password: "an entirely new password" }, { address });
  for (let i = 0; i < 10; i++) expect((await confirm()).status).toBe(400);
  expect((await confirm()).status).toBe(429);
});

test("a reset may be asked for ten times an hour from one address, whoever it is for", async () => {
  const address = "203.0.113.97";
  for (let i = 0; i < 10; i++) {
    expect((await post("/api/auth/reset/request", { email: unknown() }, { address })).status).toBe(202);
  }
  expect((await post("/api/auth/reset/request", { email: unknown() }, { address })).status).toBe(429);
});

test("a failure is an event of an account that there is, and of no other", async () => {
  const { id, email, token } = await newAccount();
  await fail(email, 2);
  await fail(unknown(), 2);
  const events = await ctx().db.securityEvent.findMany({ where: { accountId: id }, orderBy: { at: "asc" } });
  expect(events.map(({ type }) => type)).toEqual(["registered", "sign_in_failed", "sign_in_failed"]);
  expect((await get("/api/push/devices", { token })).status).toBe(200);
});

describe("a clock that was 400 days ahead", () => {
  const AHEAD_MS = 400 * 24 * 60 * MINUTE_MS;

  test("holds nobody's sign-in once it is right again", async () => {
    const { email, password } = await newAccount();
    clock.advance(AHEAD_MS);
    await fail(email, 10);
    clock.reset();
    await fail(email, 9);
    expect((await logIn(email, password)).status).toBe(200);
    clock.advance(AHEAD_MS);
    await fail(email, 1);
    clock.reset();
    await fail(email, 10);
    expect(await waitSeconds(email)).toBeLessThanOrEqual(60);
  });

  test("leaves no limit that lasts longer than its window", async () => {
    const address = "203.0.113.96";
    const confirm = () =>
      post("/api/auth/reset/confirm", { token: "x", password: "an entirely new password" }, { address });
    for (let i = 0; i < 10; i++) expect((await confirm()).status).toBe(400);
    expect((await confirm()).status).toBe(429);
    await ctx().db.$executeRaw`UPDATE "RateLimit" SET "expire" = "expire" + ${AHEAD_MS}::bigint`;
    for (let i = 0; i < 10; i++) expect((await confirm()).status).toBe(400);
    const refused = await confirm();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(15 * 60);
  });
});
