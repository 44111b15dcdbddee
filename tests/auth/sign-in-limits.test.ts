import { describe, expect, test } from "vitest";
import { AppError } from "@/lib/errors";
import { newAccount, requestReset } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { BASE_URL, clock, ctx, useUp, withContext } from "@/tests/support/context";
import { cookiesOf, submit } from "@/tests/support/web/forms";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const STRANGER_IP = "198.51.100.1";
const unknownEmail = () => `nobody-${crypto.randomUUID()}@example.com`;
type From = { ip?: string; cookie?: string };
const logIn = (email: string, password = "wrong password", { ip = STRANGER_IP, cookie }: From = {}) =>
  post("/api/auth/login", { email, password }, { ip, ...(cookie ? { cookie, headers: BROWSER } : {}) });
const BROWSER = { origin: BASE_URL };
let networks = 0;
/** An IP address of a network that was not used before. */
function newNetwork(): string {
  networks += 1;
  return `100.64.${networks >> 8}.${networks & 255}`;
}

/** Runs with a hasher that refuses every password at once. */
const withWrongPasswords = <T>(run: () => Promise<T>): Promise<T> =>
  withContext({ hasher: { ...ctx().hasher, compare: async () => false } }, run);

/** Resets the limits per network, so that only the failures of an email count. */
const resetNetworks = () => ctx().db.rateLimitCounter.deleteMany();

/** Fails to sign in a number of times, by default from one network. */
async function fail(email: string, times: number, from?: () => From): Promise<void> {
  await resetNetworks();
  await withWrongPasswords(async () => {
    for (let i = 0; i < times; i++) expect((await logIn(email, undefined, from?.())).status).toBe(401);
  });
}

async function waitSeconds(email: string, from?: From): Promise<number> {
  const response = await logIn(email, undefined, from);
  expect(response.status).toBe(429);
  expect(response.headers.get("ratelimit")).toMatch(`;r=0;t=${response.headers.get("retry-after")}`);
  return Number(response.headers.get("retry-after"));
}

/** An account with the device cookie of a browser that has signed in. */
async function newOwner() {
  const email = unknownEmail();
  const password = "the owner's own password";
  const registered = await post("/api/auth/register", { email, password }, { headers: BROWSER, ip: newNetwork() });
  const cookie = cookiesOf(registered).replace(/^.*(homeport\.device=[^;]+).*$/, "$1");
  expect(cookie).toMatch(/^homeport\.device=[\w-]{22}$/);
  return { email, password, cookie };
}

/** Counts the attempts within a day of a client that obeys Retry-After. `from` returns the client of each. */
async function countAttemptsPerDay(email: string, from: () => From): Promise<number> {
  const end = clock.offsetMs + DAY_MS;
  let attempts = 0;
  await withWrongPasswords(async () => {
    while (clock.offsetMs < end) {
      await resetNetworks();
      const { status, headers } = await logIn(email, undefined, from());
      if (status === 401) attempts += 1;
      else clock.advance(Number(headers.get("retry-after")) * 1000);
    }
  });
  clock.advance(end - clock.offsetMs);
  return attempts;
}

describe("after ten failures from one network", () => {
  // ASVS 6.3.1
  test("each further failure doubles the wait, and Retry-After contains it", async () => {
    const email = unknownEmail();
    await fail(email, 10);
    for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const seconds = await waitSeconds(email);
      expect(seconds).toBeGreaterThan((minutes - 1) * 60);
      expect(seconds).toBeLessThanOrEqual(minutes * 60);
      clock.advance(seconds * 1000);
      await fail(email, 1);
    }
  });

  test("the right password has to wait too, then signs in and resets the count", async () => {
    const { email, password } = await newOwner();
    await fail(email, 10);
    const seconds = await waitSeconds(email);
    expect((await logIn(email, password)).status).toBe(429);
    clock.advance(seconds * 1000);
    expect((await logIn(email, password)).status).toBe(200);
    await fail(email, 9);
  });

  test("ten more attempts are allowed only after a day, not after the wait", async () => {
    const email = unknownEmail();
    await fail(email, 10);
    clock.advance(60 * MINUTE_MS);
    await fail(email, 1);
    await waitSeconds(email);
    clock.advance(DAY_MS + 60 * MINUTE_MS);
    await fail(email, 10);
    await waitSeconds(email);
  });
});

describe("within a day strangers can try a password", () => {
  // ASVS 6.3.1
  test("37 times from one network", async () => {
    expect(await countAttemptsPerDay(unknownEmail(), () => ({ ip: STRANGER_IP }))).toBe(37);
  });

  // ASVS 6.3.1
  test("40 times from any number of networks, and once on each further day", async () => {
    const email = unknownEmail();
    const anywhere = () => ({ ip: newNetwork() });
    expect(await countAttemptsPerDay(email, anywhere)).toBe(40);
    const further = [await countAttemptsPerDay(email, anywhere), await countAttemptsPerDay(email, anywhere)];
    expect(Math.max(...further)).toBe(1);
  });

  // ASVS 6.3.1
  test("38 times with a device's stolen cookie, and 24 times on each further day", async () => {
    const { email, cookie } = await newOwner();
    const stolen = () => ({ ip: newNetwork(), cookie });
    expect(await countAttemptsPerDay(email, stolen)).toBe(38);
    expect(await countAttemptsPerDay(email, stolen)).toBe(24);
  });
});

describe("an owner whom strangers try to lock out", () => {
  const strangers = (email: string) => fail(email, 30, () => ({ ip: newNetwork() }));

  // ASVS 6.3.1
  test("signs in from any network with a browser that the account recognizes", async () => {
    const { email, password, cookie } = await newOwner();
    await strangers(email);
    await waitSeconds(email, { ip: newNetwork() });
    expect((await logIn(email, password, { ip: newNetwork() })).status).toBe(429);
    expect((await logIn(email, password, { ip: newNetwork(), cookie })).status).toBe(200);
  });

  test("signs in without cookies from a network that the account recognizes", async () => {
    const email = unknownEmail();
    const password = "the owner's own password";
    const ip = newNetwork();
    await post("/api/auth/register", { email, password, transport: "token" }, { ip });
    await strangers(email);
    expect((await logIn(email, password, { ip: newNetwork() })).status).toBe(429);
    expect((await logIn(email, password, { ip })).status).toBe(200);
  });

  // ASVS 6.3.1
  test("resets the password on a new device and network, and then signs in while the attempts continue", async () => {
    const { email } = await newOwner();
    const ip = newNetwork();
    await strangers(email);
    const token = await requestReset(email, 1, { ip });
    const password = "a password that nobody knows";
    const reset = await submit("reset", { token, password }, { ip });
    expect(reset.headers.get("location")).toBe("/sign-in?done=password_reset");
    await strangers(email);
    await waitSeconds(email, { ip: newNetwork() });
    const elsewhere = { ip: newNetwork(), cookie: cookiesOf(reset) };
    expect((await logIn(email, password, elsewhere)).status).toBe(200);
    expect((await logIn(email, password, { ip })).status).toBe(200);
  });

  test("signs in and requests a reset with a recognized browser, despite failures of others behind the same IP address", async () => {
    const { email, password, cookie } = await newOwner();
    const ip = newNetwork();
    await useUp("loginByIp", ip, 60);
    expect((await logIn(email, password, { ip })).status).toBe(429);
    expect((await logIn(email, password, { ip, cookie })).status).toBe(200);
    const statusOf = async (from: From) => (await post("/api/auth/reset/request", { email }, from)).status;
    await useUp("resetRequestByIp", ip, 10);
    expect(await statusOf({ ip })).toBe(429);
    expect(await statusOf({ ip, cookie })).toBe(202);
  });

  // ASVS 6.3.1
  test("sets a new password with the emailed link, despite failures of others behind the same IP address", async () => {
    const { email } = await newOwner();
    const ip = newNetwork();
    const token = await requestReset(email, 1, { ip });
    const confirm = (submitted: string) =>
      post("/api/auth/reset/confirm", { token: submitted, password: "a password that nobody knows" }, { ip });
    for (let i = 0; i < 10; i++) expect((await confirm("x")).status).toBe(400);
    expect((await confirm("x")).status).toBe(429);
    expect((await confirm(token)).status).toBe(200);
  });

  test("is not recognized by a cookie that the service did not set for the account", async () => {
    const { email, password } = await newOwner();
    const { cookie } = await newOwner();
    await strangers(email);
    for (const foreign of [cookie, `homeport.device=${"x".repeat(22)}`, "homeport.device=", "homeport.device=%00"]) {
      expect((await logIn(email, password, { ip: newNetwork(), cookie: foreign })).status).toBe(429);
    }
  });

  test("revokes the recognition of every device by a reset", async () => {
    const { email, cookie } = await newOwner();
    const token = await requestReset(email);
    await post("/api/auth/reset/confirm", { token, password: "a password that nobody knows" });
    await strangers(email);
    await waitSeconds(email, { ip: newNetwork(), cookie });
  });
});

// ASVS 2.3.4, 2.4.1
test("of concurrent attempts ten are allowed from one network, and thirty from all networks", async () => {
  const { email } = await newOwner();
  const statusesOf = async (from: () => From) => {
    const responses = await Promise.all(Array.from({ length: 35 }, () => logIn(email, undefined, from())));
    return responses.map(({ status }) => status).sort();
  };
  expect(await statusesOf(() => ({ ip: STRANGER_IP }))).toEqual([...Array(10).fill(401), ...Array(25).fill(429)]);
  const many = await statusesOf(() => ({ ip: newNetwork() }));
  expect(many.filter((status) => status === 401)).toHaveLength(20);
});

test("a sign-in does not count as a failure if the service is overloaded or unavailable", async () => {
  const { email, password } = await newAccount();
  const ip = "203.0.113.99";
  await useUp("loginByIp", ip, 45);
  for (const code of ["overloaded", "unavailable"] as const) {
    const compare = () => Promise.reject(new AppError(code));
    await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
      for (let i = 0; i < 10; i++) expect((await logIn(email, password, { ip })).status).toBe(503);
    });
  }
  await fail(email, 9, () => ({ ip }));
  expect((await post("/api/auth/login", { email, password }, { ip })).status).toBe(200);
});

test("an overloaded service does not extend the wait", async () => {
  const { email, password } = await newAccount();
  await fail(email, 10);
  clock.advance((await waitSeconds(email)) * 1000);
  const compare = () => Promise.reject(new AppError("overloaded"));
  await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
    expect((await logIn(email, password)).status).toBe(503);
  });
  expect((await logIn(email, password)).status).toBe(200);
});

test("a deletion does not count as a failure if the service is overloaded", async () => {
  const { id, password, token } = await newAccount();
  const remove = (submitted: string) =>
    post("/api/auth/account/delete", { confirm: "DELETE", password: submitted }, { token });
  const compare = () => Promise.reject(new AppError("overloaded"));
  await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
    for (let i = 0; i < 6; i++) expect((await remove(password)).status).toBe(503);
  });
  for (let i = 0; i < 10; i++) expect((await remove("a wrong one")).status).toBe(403);
  expect((await remove(password)).status).toBe(429);
  expect(await ctx().db.account.count({ where: { id } })).toBe(1);
});

// ASVS 7.5.3
test("a stolen session can try the password 38 times a day, and each attempt is a security event", async () => {
  const { id, token } = await newAccount();
  const end = clock.offsetMs + DAY_MS;
  let attempts = 0;
  await withWrongPasswords(async () => {
    while (clock.offsetMs < end) {
      const json = { confirm: "DELETE", password: "a wrong one" };
      const { status, headers } = await post("/api/auth/account/delete", json, { token });
      if (status === 403) attempts += 1;
      else clock.advance(Number(headers.get("retry-after")) * 1000);
    }
  });
  expect(attempts).toBe(38);
  expect(await ctx().db.auditEvent.count({ where: { accountId: id, type: "sign_in_failed" } })).toBe(38);
});

// ASVS 2.4.1
test("right passwords do not count as failures, so a whole office can sign in from one IP address", async () => {
  const { email, password } = await newOwner();
  const ip = newNetwork();
  const compare = async () => true;
  await useUp("loginByIp", ip, 55);
  await withContext({ hasher: { ...ctx().hasher, compare } }, async () => {
    for (let i = 0; i < 10; i++) expect((await logIn(email, password, { ip })).status).toBe(200);
  });
  const wrong = async () => (await logIn(unknownEmail(), undefined, { ip })).status;
  for (let i = 0; i < 5; i++) expect(await withWrongPasswords(wrong)).toBe(401);
  expect(await withWrongPasswords(wrong)).toBe(429);
});

// ASVS 6.3.1
test("the longest wait also holds on an instance whose clock is a second behind", async () => {
  const email = unknownEmail();
  await fail(email, 10);
  for (let seconds = await waitSeconds(email); seconds < 59 * 60; seconds = await waitSeconds(email)) {
    clock.advance(seconds * 1000);
    await fail(email, 1);
  }
  clock.advance(-1000);
  expect(await waitSeconds(email)).toBeGreaterThan(59 * 60);
});

const AHEAD_MS = 400 * DAY_MS;

test("a clock that was 400 days ahead does not block sign-ins once it is corrected", async () => {
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
