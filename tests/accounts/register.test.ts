import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { ctx, useUp } from "@/tests/support/context";

const newEmail = () => `new-${crypto.randomUUID()}@example.com`;
const PASSWORD = "a good long password";

describe.each(["/api/auth/register", "/api/auth/signup"])("%s", (path) => {
  test("creates an account and signs it in", async () => {
    const email = newEmail();
    const response = await post(path, { email: email.toUpperCase(), password: PASSWORD, name: "Ann" });
    expect(response.status).toBe(201);
    const { user, session, token } = await response.json();
    expect(user).toEqual({
      id: expect.any(String),
      email,
      name: "Ann",
      image: null,
      emailVerified: false,
      emailProblem: null,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    expect(session).toMatchObject({ transport: "token" });
    expect((await get("/api/subscription/status", { token })).status).toBe(200);
  });

  test("refuses an email that has an account, in any letter case", async () => {
    const { email } = await newAccount();
    const response = await post(path, { email: email.toUpperCase(), password: PASSWORD });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "email_taken" });
  });
});

test("only one of two concurrent registrations of an email succeeds", async () => {
  const email = newEmail();
  const responses = await Promise.all([1, 2].map(() => post("/api/auth/register", { email, password: PASSWORD })));
  expect(responses.map(({ status }) => status).sort()).toEqual([201, 409]);
  expect(await ctx().db.account.count({ where: { email } })).toBe(1);
});

// ASVS 8.2.3, 11.4.2, 15.3.1, 15.3.3
test("the password is stored as a bcrypt hash and never returned", async () => {
  const email = newEmail();
  const response = await post("/api/auth/register", { email, password: PASSWORD });
  expect(await response.text()).not.toMatch(/\$2b\$|a good long/);
  const { passwordHash } = await ctx().db.account.findUniqueOrThrow({ where: { email } });
  expect(passwordHash).toMatch(/^\$2b\$04\$/);
});

test.each([
  "a@b@example.com",
  "",
  "x",
  `${"l".repeat(65)}@example.com`,
  "a@ｅxample.com\0",
  "ann@example.com,bob@example.com",
  "ann＠example.com",
  "аnn@example.com",
  "ann@exаmple.com",
  "ann\u200b@example.com",
  "ann@example.com\r\nBcc: x@y.z",
  "\u212aate@example.com", // the Kelvin sign, which is "k" in lower case
  // ASVS 1.3.11
])("%j is refused as an email", async (email) => {
  const response = await post("/api/auth/register", { email, password: PASSWORD });
  expect(response.status).toBe(422);
  expect((await response.json()).errors[0].pointer).toBe("/email");
});

test("a page of another origin registers nobody", async () => {
  const registration = { email: newEmail(), password: PASSWORD, transport: "cookie" };
  const foreign = await post("/api/auth/register", registration, { headers: { origin: "https://evil.example" } });
  expect(foreign.status).toBe(403);
  expect(await ctx().db.account.count({ where: { email: registration.email } })).toBe(0);
});

// ASVS 2.4.1
test("the twenty-first registration from an IP address within an hour is refused", async () => {
  const ip = "203.0.113.77";
  await useUp("registerByIp", ip, 20);
  expect((await post("/api/auth/register", { email: newEmail(), password: PASSWORD }, { ip })).status).toBe(429);
});
