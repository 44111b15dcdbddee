import { describe, expect, test } from "vitest";
import { AppError } from "@/lib/errors";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { cookiesOf, submit } from "@/tests/support/web/forms";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const STRANGER = "198.51.100.1";
const unknown = () => `nobody-${crypto.randomUUID()}@example.com`;
type From = { address?: string; cookie?: string };
const logIn = (email: string, password = "wrong password", { address = STRANGER, cookie }: From = {}) =>
  post("/api/auth/login", { email, password }, { address, ...(cookie ? { cookie, headers: BROWSER } : {}) });
const BROWSER = { origin: BASE_URL };
let networks = 0;
/** A network that nobody has used. */
function newNetwork(): string {
  networks += 1;
  return `100.64.${networks >> 8}.${networks & 255}`;
}

/** Comparing passwords takes no time, and none is right. */
const guessing = <T>(run: () => Promise<T>): Promise<T> =>
  withContext({ hasher: { ...ctx().hasher, compare: async () => false } }, run);

/** The limits by network have a clock of their own. */
const freshNetworks = () => ctx().db.$executeRaw`DELETE FROM "RateLimit"`;

/** So many failures in a row, by default from one network. */
async function fail(email: string, times: number, from?: () => From): Promise<void> {
  await freshNetworks();
  await guessing(async () => {
    for (let i = 0; i < times; i++) expect((await logIn(email, undefined, from?.())).status).toBe(401);
  });
}

async function waitSeconds(email: string, from?: From): Promise<number> {
  const response = await logIn(email, undefined, from);
  expect(response.status).toBe(429);
  expect(response.headers.get("ratelimit")).toMatch(`;r=0;t=${response.headers.get("retry-after")}`);
  return Number(response.headers.get("retry-after"));
}

/** An account with a browser in which its owner has signed in, and whose network is another by now. */
async function newOwner() {
  const email = unknown();
  const password = "the owner's own password";
  const registered = await post("/api/auth/register", { email, password }, { headers: BROWSER, address: newNetwork() });
  const cookie = cookiesOf(registered).replace(/^.*(homeport\.device=[^;]+).*$/, "$1");
  expect(cookie).toMatch(/^homeport\.device=[\w-]{22}$/);
  return { email, password, cookie };
}

/** How many guesses somebody gets within a day who waits as told. `from` is where each comes from. */
async function guessesADay(email: string, from: () => From): Promise<number> {
  const end = clock.offsetMs + DAY_MS;
  let guesses = 0;
  await guessing(async () => {
    while (clock.offsetMs < end) {
      await freshNetworks();
      const { status, headers } = await logIn(email, undefined, from());
      if (status === 401) guesses += 1;
      else clock.advance(Number(headers.get("retry-after")) * 1000);
    }
  });
  clock.advance(end - clock.offsetMs);
  return guesses;
}

describe("after ten failures from one network", () => {
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

  test("the right password has to wait there as well, signs in then, and all is forgotten", async () => {
    const { email, password } = await newOwner();
    await fail(email, 10);
    const seconds = await waitSeconds(email);
    expect((await logIn(email, password)).status).toBe(429);
    clock.advance(seconds * 1000);
    expect((await logIn(email, password)).status).toBe(200);
    await fail(email, 9);
  });

  test("a wait that has passed does not give ten more, until a day has", async () => {
    const email = unknown();
    await fail(email, 10);
    clock.advance(60 * MINUTE_MS);
    await fail(email, 1);
    await waitSeconds(email);
    clock.advance(DAY_MS + 60 * MINUTE_MS);
    await fail(email, 10);
    await waitSeconds(email);
  });

  test("whoever comes from another network signs in", async () => {
    const { email, password } = await newOwner();
    await fail(email, 10);
    await waitSeconds(email);
    expect((await logIn(email, password, { address: newNetwork() })).status).toBe(200);
  });
});

test("failures are added up over a day, however slowly they come", async () => {
  const email = unknown();
  for (let i = 0; i < 10; i++) {
    await fail(email, 1);
    clock.advance(20 * 60 * MINUTE_MS);
  }
  await fail(email, 1);
  expect(await waitSeconds(email)).toBeGreaterThan(60);
});

describe("within a day strangers guess at a password", () => {
  test("37 times from one network", async () => {
    expect(await guessesADay(unknown(), () => ({ address: STRANGER }))).toBe(37);
  });

  test("40 times from as many networks as they like, and each further day once", async () => {
    const email = unknown();
    const anywhere = () => ({ address: newNetwork() });
    expect(await guessesADay(email, anywhere)).toBe(40);
    const further = [await guessesADay(email, anywhere), await guessesADay(email, anywhere)];
    expect(Math.max(...further)).toBe(1);
  });

  test("38 times with a device's stolen cookie, and each further day 24 times", async () => {
    const { email, cookie } = await newOwner();
    const stolen = () => ({ address: newNetwork(), cookie });
    expect(await guessesADay(email, stolen)).toBe(38);
    expect(await guessesADay(email, stolen)).toBe(24);
  });
});

describe("an owner whom strangers try to keep out", () => {
  const strangers = (email: string) => fail(email, 30, () => ({ address: newNetwork() }));

  test("signs in with a browser that the account has signed in with, wherever it is", async () => {
    const { email, password, cookie } = await newOwner();
    await strangers(email);
    await waitSeconds(email, { address: newNetwork() });
    expect((await logIn(email, password, { address: newNetwork() })).status).toBe(429);
    expect((await logIn(email, password, { address: newNetwork(), cookie })).status).toBe(200);
  });

  test("signs in from a network that the account has signed in from, as an app without cookies does", async () => {
    const email = unknown();
    const password = "the owner's own password";
    const address = newNetwork();
    await post("/api/auth/register", { email, password, transport: "token" }, { address });
    await strangers(email);
    expect((await logIn(email, password, { address: newNetwork() })).status).toBe(429);
    expect((await logIn(email, password, { address })).status).toBe(200);
  });

  test("on a new device and network resets the password, and then signs in whatever strangers go on doing", async () => {
    const { email } = await newOwner();
    const address = newNetwork();
    await strangers(email);
    expect((await post("/api/auth/reset/request", { email }, { address })).status).toBe(202);
    const [, token = ""] = /#token=([\w-]+)/.exec(await mailbox.waitFor(email)) ?? [];
    const password = "a password that nobody guesses";
    const reset = await submit("reset", { token, password }, { address });
    expect(reset.headers.get("location")).toBe("/sign-in?done=password_reset");
    await strangers(email);
    await waitSeconds(email, { address: newNetwork() });
    const elsewhere = { address: newNetwork(), cookie: cookiesOf(reset) };
    expect((await logIn(email, password, elsewhere)).status).toBe(200);
    expect((await logIn(email, password, { address })).status).toBe(200);
  });

  test("signs in and asks for a reset with such a browser, whatever others behind the same address get wrong", async () => {
    const { email, password, cookie } = await newOwner();
    const address = newNetwork();
    for (let i = 0; i < 60; i++)
      expect((await guessing(() => logIn(unknown(), undefined, { address }))).status).toBe(401);
    expect((await logIn(email, password, { address })).status).toBe(429);
    expect((await logIn(email, password, { address, cookie })).status).toBe(200);
    const ask = (from: From) => post("/api/auth/reset/request", { email }, from);
    for (let i = 0; i < 10; i++) await post("/api/auth/reset/request", { email: unknown() }, { address });
    expect((await ask({ address })).status).toBe(429);
    expect((await ask({ address, cookie })).status).toBe(202);
  });

  test("sets a new password by the mailed link, whatever others behind the same address try", async () => {
    const { email } = await newOwner();
    const address = newNetwork();
    await post("/api/auth/reset/request", { email }, { address });
    const [, token = ""] = /#token=([\w-]+)/.exec(await mailbox.waitFor(email)) ?? [];
    const confirm = (given: string) =>
      post("/api/auth/reset/confirm", { token: given, password: "a password that nobody guesses" }, { address });
    for (let i = 0; i < 10; i++) expect((await confirm("x")).status).toBe(400);
    expect((await confirm("x")).status).toBe(429);
    expect((await confirm(token)).status).toBe(200);
  });

  test("is not helped by a cookie that the service did not set for the account", async () => {
    const { email, password } = await newOwner();
    const { cookie } = await newOwner();
    await strangers(email);
    for (const foreign of [cookie, `homeport.device=${"x".repeat(22)}`, "homeport.device=", "homeport.device=%00"]) {
      expect((await logIn(email, password, { address: newNetwork(), cookie: foreign })).status).toBe(429);
    }
  });

  test("takes every device's recognition back by a reset", async () => {
    const { email, cookie } = await newOwner();
    await post("/api/auth/reset/request", { email });
    const [, token = ""] = /#token=([\w-]+)/.exec(await mailbox.waitFor(email)) ?? [];
    await post("/api/auth/reset/confirm", { token, password: "a password that nobody guesses" });
    await strangers(email);
    await waitSeconds(email, { address: newNetwork(), cookie });
  });
});

test("of a burst at one moment from one network ten are let in, and of one from many thirty", async () => {
  const { email } = await newOwner();
  const statusesOf = async (from: () => From) => {
    const answers = await Promise.all(Array.from({ length: 45 }, () => logIn(email, undefined, from())));
    return answers.map(({ status }) => status).sort();
  };
  expect(await statusesOf(() => ({ address: STRANGER }))).toEqual([...Array(10).fill(401), ...Array(35).fill(429)]);
  const many = await statusesOf(() => ({ address: newNetwork() }));
  expect(many.filter((status) => status === 401)).toHaveLength(20);
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
  await fail(email, 9, () => ({ address }));
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
  for (let i = 0; i < 10; i++) expect((await remove("a wrong one")).status).toBe(403);
  expect((await remove(password)).status).toBe(429);
  expect(await ctx().db.account.count({ where: { id } })).toBe(1);
});

test("a stolen session guesses at the password 38 times a day, and each guess is a security event", async () => {
  const { id, token } = await newAccount();
  const end = clock.offsetMs + DAY_MS;
  let guesses = 0;
  await guessing(async () => {
    while (clock.offsetMs < end) {
      const json = { confirm: "DELETE", password: "a wrong one" };
      const { status, headers } = await post("/api/auth/account/delete", json, { token });
      if (status === 403) guesses += 1;
      else clock.advance(Number(headers.get("retry-after")) * 1000);
    }
  });
  expect(guesses).toBe(38);
  expect(await ctx().db.securityEvent.count({ where: { accountId: id, type: "sign_in_failed" } })).toBe(38);
});

test("right passwords are no failures: a whole office signs in from one address", async () => {
  const { email, password } = await newOwner();
  const address = newNetwork();
  const compare = async () => true;
  await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
    for (let i = 0; i < 70; i++) expect((await logIn(email, password, { address })).status).toBe(200);
  });
  const wrong = async () => (await logIn(unknown(), undefined, { address })).status;
  for (let i = 0; i < 60; i++) expect(await guessing(wrong)).toBe(401);
  expect(await guessing(wrong)).toBe(429);
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
