import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { createBreachLookup } from "@/lib/adapters/have-i-been-pwned";
import { createHasher } from "@/lib/auth/passwords/hasher";
import { AppError } from "@/lib/errors";
import { newAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const newEmail = () => `new-${crypto.randomUUID()}@example.com`;
const register = (password: string, email = newEmail()) => post("/api/auth/register", { email, password });

async function refusal(response: Response): Promise<unknown> {
  expect(response.status).toBe(422);
  const { errors } = (await response.json()) as { errors: { pointer: string; code: string }[] };
  return errors.map(({ pointer, code }) => `${pointer} ${code}`).join();
}

describe("a new password", () => {
  test.each([
    ["of 7 characters", "kUp4!xz", "too_short"],
    ["of 7 characters that take 14 bytes", "äöüßéàè", "too_short"],
    ["of 73 bytes", "p".repeat(73), "too_long"],
    ["of 73 bytes in 37 characters", `${"ü".repeat(36)}x`, "too_long"],
    ["that a list of common ones begins with", "password", "too_common"],
    ["that is common, whatever the case", "PassWord1", "too_common"],
    ["that is common in full-width letters", "ｐａｓｓｗｏｒｄ１", "too_common"],
    ["that is the product's name and little else", "Homeport2026!", "too_common"],
  ])("%s is refused", async (_, password, code) => {
    expect(await refusal(await register(password))).toBe(`/password ${code}`);
  });

  test.each([
    ["the address", (email: string) => email],
    ["the address in capitals", (email: string) => email.toUpperCase()],
    ["what stands before the @", (email: string) => email.slice(0, email.indexOf("@"))],
    ["that with a year behind it", (email: string) => `${email.slice(0, email.indexOf("@"))}2026!`],
  ])("that is %s is refused, for a new account and for a reset", async (_, choose) => {
    const email = `ann.${crypto.randomUUID().slice(0, 8)}x@example.com`;
    expect(await refusal(await register(choose(email), email))).toBe("/password too_guessable");
    expect((await register("correct horse battery", email)).status).toBe(201);
    await post("/api/auth/reset/request", { email });
    const token = /reset#token=([\w-]+)/.exec(await mailbox.waitFor(email))?.[1];
    const reset = await post("/api/auth/reset/confirm", { token, password: choose(email) });
    expect(await refusal(reset)).toBe("/password too_guessable");
    expect((await post("/api/auth/reset/confirm", { token, password: "another horse battery" })).status).toBe(200);
  });

  test.each([
    ["8 characters", "kUp4!xzq"],
    ["8 code points outside the basic plane", "🦊🐻🐼🦁🐯🐨🐸🐵"],
    ["72 bytes", "p".repeat(71).concat("q")],
    ["72 bytes in 36 characters", "ü".repeat(36)],
    ["words and spaces", "correct horse battery staple"],
    ["digits alone, uncommon ones", "8203917465"],
  ])("of %s is taken, and signs in", async (_, password) => {
    const email = newEmail();
    expect((await register(password, email)).status).toBe(201);
    expect((await post("/api/auth/login", { email, password })).status).toBe(200);
  });

  test("with a NUL is not valid anywhere", async () => {
    const { email } = await newAccount();
    const password = "correct\0horse";
    expect((await register(password)).status).toBe(422);
    expect((await post("/api/auth/login", { email, password })).status).toBe(422);
    expect((await post("/api/auth/reset/confirm", { token: "x", password })).status).toBe(422);
  });

  test("is one password in NFD, NFC and compatibility forms", async () => {
    const email = newEmail();
    const password = "crème brûlée № 5";
    expect((await register(password.normalize("NFD"), email)).status).toBe(201);
    for (const form of ["NFC", "NFD", "NFKC", "NFKD"] as const) {
      expect((await post("/api/auth/login", { email, password: password.normalize(form) })).status).toBe(200);
    }
    expect((await post("/api/auth/login", { email, password: "creme brulee № 5" })).status).toBe(401);
  });

  test("is as long as the configuration asks", async () => {
    await withContext({ config: { AUTH_PASSWORD_MIN: 15 } }, async () => {
      expect(await refusal(await register("fourteen chars"))).toBe("/password too_short");
      expect((await register("fifteen chars!!")).status).toBe(201);
    });
  });
});

test("a password is right for as long as nobody changes it", async () => {
  const { email, password } = await newAccount();
  clock.advance(3 * 365 * 24 * 60 * 60 * 1000);
  expect((await post("/api/auth/login", { email, password })).status).toBe(200);
});

describe("the breach look-up", () => {
  const BREACHED = "a password from a breach";
  const digest = createHash("sha1").update(BREACHED).digest("hex").toUpperCase();
  const padding = Array.from({ length: 900 }, (_, i) => `${i.toString(16).padStart(35, "0").toUpperCase()}:0`);

  /** A stand-in of the range API; `answer` says what it does with a request. */
  async function rangeApi(answer: (prefix: string) => { status?: number; lines: string[] } | "nothing") {
    const asked: { prefix: string; padding: unknown }[] = [];
    const server = createServer((request, response) => {
      const prefix = request.url?.replace("/range/", "") ?? "";
      asked.push({ prefix, padding: request.headers["add-padding"] });
      const given = answer(prefix);
      if (given !== "nothing") response.writeHead(given.status ?? 200).end(given.lines.join("\r\n"));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/range`;
    const config = { ...ctx().config, AUTH_BREACH_CHECK: true, AUTH_BREACH_CHECK_URL: url };
    return { asked, breaches: createBreachLookup(config, pino({ level: "silent" })) };
  }

  test("refuses what is listed, among padding, and tells the service five characters of a hash", async () => {
    const { asked, breaches } = await rangeApi((prefix) => ({
      lines: [...padding, ...(digest.startsWith(prefix) ? [`${digest.slice(5)}:42`] : []), ...padding],
    }));
    await withContext({ breaches }, async () => {
      expect(await refusal(await register(BREACHED))).toBe("/password breached");
      expect((await register("a password from nowhere")).status).toBe(201);
      const { email } = await newAccount();
      await post("/api/auth/reset/request", { email });
      const token = /reset#token=([\w-]+)/.exec(await mailbox.waitFor(email))?.[1];
      expect(await refusal(await post("/api/auth/reset/confirm", { token, password: BREACHED }))).toContain("breached");
    });
    expect(asked[0]).toEqual({ prefix: digest.slice(0, 5), padding: "true" });
    expect(asked.every(({ prefix }) => /^[0-9A-F]{5}$/.test(prefix))).toBe(true);
  });

  test("takes padding for what it is: a listed suffix with a count of 0 is no breach", async () => {
    const { breaches } = await rangeApi(() => ({ lines: [`${digest.slice(5)}:0`, ...padding] }));
    expect(await breaches(BREACHED)).toBe(false);
  });

  test.each([
    ["fails", () => ({ status: 500, lines: [`${digest.slice(5)}:42`] })],
    ["never answers", () => "nothing" as const],
    ["answers something else", () => ({ lines: ["<html>"] })],
  ])("lets the password through where the service %s", async (_, answer) => {
    const { breaches } = await rangeApi(answer);
    await withContext({ breaches }, async () => expect((await register(BREACHED)).status).toBe(201));
  });

  test("lets the password through where nobody listens, and asks nobody unless it is on", async () => {
    const log = pino({ level: "silent" });
    const nowhere = { ...ctx().config, AUTH_BREACH_CHECK: true, AUTH_BREACH_CHECK_URL: "http://127.0.0.1:1" };
    expect(await createBreachLookup(nowhere, log)(BREACHED)).toBe(false);
    const { asked } = await rangeApi(() => "nothing");
    expect((await register(BREACHED)).status).toBe(201);
    expect(asked).toEqual([]);
  });
});

describe("when the cost of a hash is raised", () => {
  const hashOf = async (id: string) => (await ctx().db.account.findUniqueOrThrow({ where: { id } })).passwordHash;
  const raised = { config: { BCRYPT_COST: 11 } };

  test("the next right password is hashed anew, and goes on to sign in", async () => {
    const { id, email, password } = await newAccount();
    await withContext(raised, async () => {
      expect((await post("/api/auth/login", { email, password: "a wrong one" })).status).toBe(401);
      expect(await hashOf(id)).toMatch(/^\$2b\$04\$/);
      expect((await post("/api/auth/login", { email, password })).status).toBe(200);
      expect(await hashOf(id)).toMatch(/^\$2b\$11\$/);
      expect((await post("/api/auth/login", { email, password })).status).toBe(200);
    });
    const { passwordHash } = await ctx().db.account.findUniqueOrThrow({ where: { id } });
    expect((await post("/api/auth/login", { email, password })).status).toBe(200);
    expect(await hashOf(id)).toBe(passwordHash); // never down again
  });

  test("nobody is hashed anew while others wait: a sign-in stands in the queue once", async () => {
    const { id, email, password } = await newAccount();
    const pool = createHasher({ threads: 1, maxQueued: 10 });
    onTestFinished(pool.close);
    const others: Promise<string>[] = [];
    const compare: typeof pool.compare = (...args) => {
      const answer = pool.compare(...args);
      others.push(pool.hash("one", 10), pool.hash("two", 10));
      return answer;
    };
    const login = () => post("/api/auth/login", { email, password });
    await withContext({ ...raised, hasher: { ...pool, compare } }, async () =>
      expect((await login()).status).toBe(200),
    );
    expect(await hashOf(id)).toMatch(/^\$2b\$04\$/);
    await Promise.all(others);
    await withContext({ ...raised, hasher: pool }, async () => expect((await login()).status).toBe(200));
    expect(await hashOf(id)).toMatch(/^\$2b\$11\$/);
  });

  test("a service too busy to hash anew signs in all the same", async () => {
    const { id, email, password } = await newAccount();
    const hasher = { ...ctx().hasher, hash: () => Promise.reject(new AppError("overloaded")) };
    await withContext({ ...raised, hasher }, async () => {
      expect((await post("/api/auth/login", { email, password })).status).toBe(200);
    });
    expect(await hashOf(id)).toMatch(/^\$2b\$04\$/);
  });
});
