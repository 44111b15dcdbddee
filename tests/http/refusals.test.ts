import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { expect, test } from "vitest";
import { AppError, ERRORS, type ErrorCode } from "@/lib/errors";
import { logRefusal } from "@/lib/platform/audit/refusals";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { Jar, signIn } from "@/tests/support/auth/browser";
import { ctx, withContext } from "@/tests/support/context";
import { callsHandlers } from "@/tests/support/server";
import { submit } from "@/tests/support/web/forms";

type Line = { level: number; msg: string; code?: string; network?: string | null; limit?: string; route?: string };

/** The refusals that are logged while `run` runs, and the log's whole text. */
async function refusalsOf(run: () => Promise<unknown>): Promise<{ lines: Line[]; text: string }> {
  const written: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void written.push(line) });
  await withContext({ log }, run);
  const lines = written.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === "refused");
  return { lines, text: written.join("") };
}

const unknown = () => ({ email: `nobody-${randomUUID()}@example.com`, password: "a wrong password" });

// Behind a server the client's IP comes with the request, and the log is the server's.
// ASVS 14.2.4, 16.2.5, 16.3.1
test.runIf(callsHandlers)("a spray over many emails is traced to its network, in IPv4 and in IPv6", async () => {
  for (const [ip, network] of [
    ["198.51.100.77", "198.51.100.0/24"],
    ["2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64"],
  ] as const) {
    const { lines, text } = await refusalsOf(async () => {
      for (let i = 0; i < 3; i++) await post("/api/auth/login", unknown(), { ip });
      await submit("sign-in", unknown(), { ip });
    });
    expect(lines.map(({ code }) => code)).toEqual(Array(4).fill("invalid_credentials"));
    expect(new Set(lines.map((line) => line.network))).toEqual(new Set([network]));
    expect(lines.map(({ route }) => route)).toEqual([...Array(3).fill("/api/auth/login"), "/forms/sign-in"]);
    expect(text).not.toContain(ip);
    expect(text).not.toContain("nobody");
    expect(text).not.toContain("a wrong password");
  }
});

// ASVS 16.3.1
test("a wrong password at next-auth is logged like one at the API", async () => {
  const { lines } = await refusalsOf(() => signIn(new Jar(), unknown()));
  expect(lines).toMatchObject([{ code: "invalid_credentials", route: "/api/auth/callback/credentials", level: 40 }]);
});

// ASVS 16.3.2, 16.3.3
test("a foreign origin is logged", async () => {
  const headers = { origin: "https://evil.example" };
  const { lines, text } = await refusalsOf(() => submit("sign-in", unknown(), { headers }));
  expect(lines).toMatchObject([{ code: "origin_not_allowed", route: "/forms/sign-in" }]);
  expect(text).not.toContain("evil.example");
});

// ASVS 16.3.2, 16.3.3
test("a rate limit is logged with the limit that was reached", async () => {
  const ip = "203.0.113.201";
  const { lines } = await refusalsOf(async () => {
    for (let i = 0; i < 11; i++) await post("/api/auth/reset/request", { email: unknown().email }, { ip });
  });
  expect(lines).toMatchObject([{ code: "rate_limited", limit: '"resetRequestByIp";q=10;w=3600' }]);
});

// ASVS 16.3.2, 16.3.3
test("a failed step-up is logged with the account", async () => {
  const account = await newAccount();
  const remove = (password?: string) =>
    call("POST", "/api/auth/account/delete", { json: { confirm: "DELETE", password }, token: account.token });
  const { lines, text } = await refusalsOf(() => remove("not the password"));
  expect(lines).toMatchObject([{ code: "reauthentication_required", accountId: account.id }]);
  expect(text).not.toContain("not the password");
  expect((await refusalsOf(() => remove())).lines).toEqual([]);
});

test("a session that has ended is not logged as a refusal, nor is any success", async () => {
  const { lines } = await refusalsOf(async () => {
    await get("/api/push/devices", { token: "expired" });
    await get("/api/health");
  });
  expect(lines).toEqual([]);
});

test("errors 401, 403 and 429 are logged, except an ended session and a missing second factor", async () => {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => [401, 403, 429].includes(ERRORS[code][0]));
  const { lines } = await refusalsOf(async () => {
    for (const code of codes) logRefusal(ctx(), new AppError(code), "203.0.113.1");
  });
  const logged = lines.map(({ code }) => code);
  expect(codes.filter((code) => !logged.includes(code))).toEqual(["unauthenticated", "second_factor_required"]);
});
