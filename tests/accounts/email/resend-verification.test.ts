import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { signInToBrowser } from "@/tests/support/auth/oauth-client";
import { confirm, emailedToken, PASSWORD, register, withVerification } from "@/tests/support/auth/verification";
import { clock, ctx } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";

const RESEND = "/api/auth/verification/resend";
const newEmail = () => `person-${randomUUID()}@example.com`;
const isVerified = async (email: string) =>
  (await ctx().db.account.findUniqueOrThrow({ where: { email } })).emailVerifiedAt !== null;

// ASVS 6.4.1
test("another email has a link that verifies the email for a day, also after the first link expired", async () => {
  await withVerification(async () => {
    const email = newEmail();
    await register(email);
    const expired = await emailedToken(email);
    clock.advance(25 * 60 * 60 * 1000);
    expect((await confirm(expired)).headers.get("location")).toContain("error");
    const response = await post(RESEND, { email });
    expect([response.status, await response.json()]).toEqual([202, { status: "accepted" }]);
    await confirm(await emailedToken(email, 2));
    expect(await isVerified(email)).toBe(true);
    expect((await post("/api/auth/login", { email, password: PASSWORD })).status).toBe(200);
  });
});

test("verified and unknown emails get the same response, and no email", async () => {
  const [unknown, known] = [newEmail(), await newAccount()];
  await ctx().db.account.update({ where: { id: known.id }, data: { emailVerifiedAt: ctx().now() } });
  for (const email of [unknown, known.email]) {
    const response = await post(RESEND, { email });
    expect([response.status, await response.json()]).toEqual([202, { status: "accepted" }]);
    await expect.poll(() => ctx().db.queuedEmail.count({ where: { email } })).toBe(0);
    expect(mailbox.to(email)).toEqual([]);
  }
  expect((await post(RESEND, { email: "nobody" })).status).toBe(422);
});

test("a network can send ten requests an hour, and an email gets four links at first", async () => {
  const { email } = await newAccount();
  const ip = "203.0.113.95";
  for (let i = 0; i < 10; i++) {
    expect((await post(RESEND, { email }, { ip })).status).toBe(202);
    await expect.poll(() => ctx().db.queuedEmail.count({ where: { email } })).toBe(0);
  }
  expect(mailbox.to(email)).toHaveLength(4);
  expect((await post(RESEND, { email }, { ip })).status).toBe(429);
});

test("a signed-in account verifies its email by a button and the link, without the password, and stays signed in", async () => {
  const account = await newAccount();
  const { token } = account;
  const cookie = await signInToBrowser(account);
  await ctx().db.account.update({ where: { id: account.id }, data: { passwordHash: null } });
  const sent = await submit("account/verification", {}, { cookie });
  expect(sent.headers.get("location")).toBe("/account?done=verification_sent");
  const link = await emailedToken(account.email);
  const done = await submit("account/verify", { token: link }, { cookie });
  expect(done.headers.get("location")).toBe("/account?done=email_verified");
  expect(await isVerified(account.email)).toBe(true);
  expect((await get("/api/subscription/status", { token })).status).toBe(200);
  expect(flashOf(await submit("account/verify", { token: link }, { cookie }))?.message).toBe(
    "This link is no longer valid, or belongs to another account.",
  );
});

test("a session verifies only its own account's email", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  await post(RESEND, { email: ann.email });
  const link = await emailedToken(ann.email);
  const refused = await submit("account/verify", { token: link }, { cookie: await signInToBrowser(bob) });
  expect(flashOf(refused)?.message).toBe("This link is no longer valid, or belongs to another account.");
  expect([await isVerified(ann.email), await isVerified(bob.email)]).toEqual([false, false]);
});

test("the page after registering sends the link again without asking for the email", async () => {
  await withVerification(async () => {
    const email = newEmail();
    const registered = await submit("register", { email, password: PASSWORD });
    const location = new URL(registered.headers.get("location") ?? "", "http://localhost");
    expect(location.pathname).toBe("/verify");
    expect(cookiesOf(registered)).toMatch(/^homeport\.form=/);
    await emailedToken(email);
    expect((await submit("verification", { email })).headers.get("location")).toMatch(/^\/verify\?sent=/);
    await confirm(await emailedToken(email, 2));
    expect(await isVerified(email)).toBe(true);
    const refused = flashOf(await submit("verification", { email: "nobody" }));
    expect(refused?.fields).toEqual({ email: "Must be an email address" });
  });
});
