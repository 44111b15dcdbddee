import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { createHasher } from "@/lib/auth/passwords/hasher";
import { AppError } from "@/lib/errors";
import { createBreachLookup } from "@/lib/platform/adapters/breach-lookup";
import { newAccount, requestReset } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { listenForTest } from "@/tests/support/network/listen";

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
    ["of 257 characters", "p".repeat(257), "too_long"],
    ["that is the most common of all", "password", "too_common"],
    ["that is common in another letter case", "PassWord1", "too_common"],
    ["that is common in full-width letters", "ｐａｓｓｗｏｒｄ１", "too_common"],
    ["that is little more than the product's name", "Homeport2026!", "too_common"],
    // ASVS 6.2.1, 6.2.4, 6.2.11, 6.2.12
  ])("%s is refused", async (_, password, code) => {
    expect(await refusal(await register(password))).toBe(`/password ${code}`);
  });

  // ASVS 6.2.11
  test("that is like the email is refused, for a new account and for a reset", async () => {
    const name = `ann.${crypto.randomUUID().slice(0, 8)}x`;
    const email = `${name}@example.com`;
    for (const password of [email, email.toUpperCase(), name, `${name}2026!`]) {
      expect(await refusal(await register(password, email))).toBe("/password too_guessable");
    }
    expect((await register("correct horse battery", email)).status).toBe(201);
    const token = await requestReset(email);
    expect(await refusal(await post("/api/auth/reset/confirm", { token, password: name }))).toBe(
      "/password too_guessable",
    );
    expect((await post("/api/auth/reset/confirm", { token, password: "another horse battery" })).status).toBe(200);
  });

  test.each([
    ["8 characters", "kUp4!xzq"],
    ["8 code points outside the basic plane", "🦊🐻🐼🦁🐯🐨🐸🐵"],
    ["72 bytes", "p".repeat(71).concat("q")],
    ["72 bytes in 36 characters", "ü".repeat(36)],
    ["73 bytes", "p".repeat(72).concat("q")],
    ["64 characters of three bytes each", "漢字仮名".repeat(16)],
    ["256 emoji", "🦊🐻🐼🦁".repeat(64)],
    ["words and spaces", "correct horse battery staple"],
    ["uncommon digits only", "8203917465"],
    // ASVS 6.2.5, 6.2.9
  ])("of %s is accepted, and signs in", async (_, password) => {
    const email = newEmail();
    expect((await register(password, email)).status).toBe(201);
    expect((await post("/api/auth/login", { email, password })).status).toBe(200);
  });

  test("with a NUL is refused by every route", async () => {
    const { email } = await newAccount();
    const password = "correct\0horse";
    expect((await register(password)).status).toBe(422);
    expect((await post("/api/auth/login", { email, password })).status).toBe(422);
    expect((await post("/api/auth/reset/confirm", { token: "x", password })).status).toBe(422);
  });

  // ASVS 6.2.8
  test("is the same password in NFD, NFC and compatibility forms", async () => {
    const email = newEmail();
    const password = "crème brûlée № 5";
    expect((await register(password.normalize("NFD"), email)).status).toBe(201);
    for (const form of ["NFC", "NFD", "NFKC", "NFKD"] as const) {
      expect((await post("/api/auth/login", { email, password: password.normalize(form) })).status).toBe(200);
    }
    expect((await post("/api/auth/login", { email, password: "creme brulee № 5" })).status).toBe(401);
  });

  // ASVS 6.2.1
  test("has at least the configured length", async () => {
    await withContext({ config: { AUTH_PASSWORD_MIN: 15 } }, async () => {
      expect(await refusal(await register("fourteen chars"))).toBe("/password too_short");
      expect((await register("fifteen chars!!")).status).toBe(201);
    });
  });
});

// ASVS 6.2.10
test("a password does not expire", async () => {
  const { email, password } = await newAccount();
  clock.advance(3 * 365 * 24 * 60 * 60 * 1000);
  expect((await post("/api/auth/login", { email, password })).status).toBe(200);
});

describe("the breach lookup", () => {
  const BREACHED = "a password from a breach";
  const digest = createHash("sha1").update(BREACHED).digest("hex").toUpperCase();
  const padding = Array.from({ length: 900 }, (_, i) => `${i.toString(16).padStart(35, "0").toUpperCase()}:0`);

  /** A fake of the range API. `respond` returns the response to a prefix; "nothing" leaves the request open. */
  async function rangeApi(respond: (prefix: string) => { status?: number; lines: string[] } | "nothing") {
    const requests: { prefix: string; padding: unknown }[] = [];
    const server = createServer((request, response) => {
      const prefix = request.url?.replace("/range/", "") ?? "";
      requests.push({ prefix, padding: request.headers["add-padding"] });
      const result = respond(prefix);
      if (result !== "nothing") response.writeHead(result.status ?? 200).end(result.lines.join("\r\n"));
    });
    const url = `http://${await listenForTest(server)}/range`;
    const config = { ...ctx().config, AUTH_BREACH_CHECK: true, AUTH_BREACH_CHECK_URL: url };
    return { requests, breaches: createBreachLookup(config, pino({ level: "silent" })) };
  }

  // ASVS 6.2.12
  test("refuses a listed password, and sends only five characters of its hash", async () => {
    const { requests, breaches } = await rangeApi((prefix) => ({
      lines: [...padding, ...(digest.startsWith(prefix) ? [`${digest.slice(5)}:42`] : []), ...padding],
    }));
    await withContext({ breaches }, async () => {
      expect(await refusal(await register(BREACHED))).toBe("/password breached");
      expect((await register("a password from nowhere")).status).toBe(201);
      const { email } = await newAccount();
      const token = await requestReset(email);
      expect(await refusal(await post("/api/auth/reset/confirm", { token, password: BREACHED }))).toContain("breached");
    });
    expect(requests[0]).toEqual({ prefix: digest.slice(0, 5), padding: "true" });
    expect(requests.every(({ prefix }) => /^[0-9A-F]{5}$/.test(prefix))).toBe(true);
  });

  test("ignores padding: a listed suffix with a count of 0 is not a breach", async () => {
    const { breaches } = await rangeApi(() => ({ lines: [`${digest.slice(5)}:0`, ...padding] }));
    expect(await breaches(BREACHED)).toBe(false);
  });

  test.each([
    ["fails", () => ({ status: 500, lines: [`${digest.slice(5)}:42`] })],
    ["never responds", () => "nothing" as const],
    ["returns another format", () => ({ lines: ["<html>"] })],
  ])("accepts the password if the service %s", async (_, respond) => {
    const { breaches } = await rangeApi(respond);
    await withContext({ breaches }, async () => expect((await register(BREACHED)).status).toBe(201));
  });

  test("accepts the password if the service is unreachable, and sends nothing unless enabled", async () => {
    const log = pino({ level: "silent" });
    const nowhere = { ...ctx().config, AUTH_BREACH_CHECK: true, AUTH_BREACH_CHECK_URL: "http://127.0.0.1:1" };
    expect(await createBreachLookup(nowhere, log)(BREACHED)).toBe(false);
    const { requests } = await rangeApi(() => "nothing");
    expect((await register(BREACHED)).status).toBe(201);
    expect(requests).toEqual([]);
  });
});

describe("when the cost of a hash is raised", () => {
  const hashOf = async (id: string) => (await ctx().db.account.findUniqueOrThrow({ where: { id } })).passwordHash;
  const raised = { config: { BCRYPT_COST: 11 } };

  // ASVS 11.2.2, 11.4.2
  test("the next right password is rehashed, and still signs in", async () => {
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
    expect(await hashOf(id)).toBe(passwordHash); // the cost is never lowered
  });

  test("no password is rehashed while other jobs wait, so a sign-in takes one place in the queue", async () => {
    const { id, email, password } = await newAccount();
    const pool = createHasher({ threads: 1, maxQueued: 10 });
    onTestFinished(pool.close);
    const others: Promise<string>[] = [];
    const compare: typeof pool.compare = (...args) => {
      const result = pool.compare(...args);
      others.push(pool.hash("one", 10), pool.hash("two", 10));
      return result;
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

  test("a service that is too busy to rehash still signs in", async () => {
    const { id, email, password } = await newAccount();
    const hasher = { ...ctx().hasher, hash: () => Promise.reject(new AppError("overloaded")) };
    await withContext({ ...raised, hasher }, async () => {
      expect((await post("/api/auth/login", { email, password })).status).toBe(200);
    });
    expect(await hashOf(id)).toMatch(/^\$2b\$04\$/);
  });
});
