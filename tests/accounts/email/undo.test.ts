import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { eventsOf, newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { clock, ctx, withContext } from "@/tests/support/context";
import {
  changeTo,
  confirmChange,
  emailOf,
  newVerified,
  requestChange,
  tokenTo,
  undoChange,
} from "@/tests/support/email-change";
import { mailbox } from "@/tests/support/mailbox";

const DAY_MS = 24 * 60 * 60 * 1000;
const newEmail = () => `new-${randomUUID()}@example.com`;
const emailOfAccount = async (id: string) => (await ctx().db.account.findUniqueOrThrow({ where: { id } })).email;

test("the link to the old email restores it, ends all sessions, revokes every link and asks for a new password", async () => {
  const [account, email] = [await newVerified(), newEmail()];
  const undo = await changeTo(account, email);
  await post("/api/auth/reset/request", { email });
  await expect.poll(() => mailbox.to(email).some((message) => message.includes("/reset#token="))).toBe(true);
  const [, reset = ""] = /\/reset#token=([\w-]+)/.exec(mailbox.to(email).join("\n")) ?? [];
  const [identity] = await ctx().db.identity.createManyAndReturn({
    data: [{ accountId: account.id, provider: "google", subject: randomUUID(), createdAt: ctx().now() }],
  });

  const undone = await undoChange(undo);
  expect(undone.status).toBe(200);
  expect(await undone.json()).toEqual({ status: "email_restored", identities: [] });
  expect(await emailOfAccount(account.id)).toBe(account.email);
  expect((await get("/api/subscription/status", { token: account.token })).status).toBe(401);
  expect((await post("/api/auth/reset/confirm", { token: reset, password: "an entirely new one" })).status).toBe(400);
  expect((await post("/api/auth/login", account)).status).toBe(401);
  expect(await ctx().db.identity.count({ where: { id: identity?.id ?? "" } })).toBe(0);
  expect(await eventsOf(account.id)).toContain("email_change_undone");
  expect((await undoChange(undo)).status).toBe(400);

  await expect.poll(() => mailbox.to(account.email).some((message) => message.includes("/reset#token="))).toBe(true);
  const [, token = ""] = /\/reset#token=([\w-]+)/.exec(mailbox.to(account.email).join("\n")) ?? [];
  await post("/api/auth/reset/confirm", { token, password: "an entirely new one" });
  const login = await post("/api/auth/login", { email: account.email, password: "an entirely new one" });
  expect(login.status).toBe(200);
});

test("a pending change is undone as well: its link no longer works, and the session that asked for it ends", async () => {
  const [account, email] = [await newVerified(), newEmail()];
  await requestChange(account, email);
  const confirm = await tokenTo(email, "email-change");
  expect((await undoChange(await tokenTo(account.email, "email-change/undo"))).status).toBe(200);
  expect((await confirmChange(confirm, { token: account.token })).status).toBe(401);
  expect(await emailOf(account.token)).toBeUndefined();
});

test("an authenticator app that was confirmed since the request is removed, whenever it was begun", async () => {
  const account = await newVerified();
  const { token } = account;
  const { id, secret } = await (await post("/api/auth/factors/totp", {}, { token })).json();
  clock.advance(1000);
  await requestChange(account, newEmail());
  const undo = await tokenTo(account.email, "email-change/undo");
  clock.advance(1000);
  const code = new Authenticator(secret).code();
  expect((await post("/api/auth/factors/totp/confirm", { id, code }, { token })).status).toBe(200);
  expect((await undoChange(undo)).status).toBe(200);
  expect(await ctx().db.totpFactor.count({ where: { accountId: account.id } })).toBe(0);
});

test("the link of a change that was replaced or canceled still locks its author out", async () => {
  const [account, first, second] = [await newVerified(), newEmail(), newEmail()];
  await requestChange(account, first);
  const undo = await tokenTo(account.email, "email-change/undo");
  await requestChange(account, second);
  await confirmChange(await tokenTo(second, "email-change"), { token: account.token });
  expect((await undoChange(undo)).status).toBe(200);
  expect(await emailOfAccount(account.id)).toBe(account.email);
});

test("the first owner undoes later changes too, and the later owners no longer undo anything", async () => {
  const [account, second, third] = [await newVerified(), newEmail(), newEmail()];
  const undoFirst = await changeTo(account, second);
  await requestChange(account, third);
  await confirmChange(await tokenTo(third, "email-change"), { token: account.token });
  const undoSecond = await tokenTo(second, "email-change/undo");
  expect((await undoChange(undoFirst)).status).toBe(200);
  expect(await emailOfAccount(account.id)).toBe(account.email);
  expect((await undoChange(undoSecond)).status).toBe(400);
});

test("a change can be undone until 7 days after its confirmation", async () => {
  const [ann, bob] = [await newVerified(), await newVerified()];
  const undoAnn = await changeTo(ann, newEmail());
  const undoBob = await changeTo(bob, newEmail());
  clock.advance(7 * DAY_MS - 60_000);
  await removeExpiredRows(ctx());
  expect((await undoChange(undoAnn)).status).toBe(200);
  clock.advance(2 * 60_000);
  await removeExpiredRows(ctx());
  expect((await undoChange(undoBob)).status).toBe(400);
  expect(await ctx().db.emailChange.count({ where: { accountId: bob.id } })).toBe(0);
});

test("only one of two concurrent uses succeeds", async () => {
  const account = await newVerified();
  const undo = await changeTo(account, newEmail());
  const responses = await Promise.all([undoChange(undo), undoChange(undo)]);
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 400]);
});

test("nobody else can use the old email while the change can be undone", async () => {
  const [account, other] = [await newVerified(), await newVerified()];
  await changeTo(account, newEmail());
  await expect.poll(() => ctx().db.queuedEmail.count({ where: { email: account.email } })).toBe(0);
  const registration = { email: account.email, password: "a good long password" };
  expect((await post("/api/auth/register", registration)).status).toBe(409);
  await requestChange(other, account.email);
  const confirm = await confirmChange(await confirmTokenOf(other.id), { token: other.token });
  expect([confirm.status, (await confirm.json()).code]).toEqual([409, "email_taken"]);
  const before = undoEmailsTo(account.email);
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    expect((await post("/api/auth/register", registration)).status).toBe(202);
  });
  await expect.poll(() => undoEmailsTo(account.email)).toBe(before + 1);
  expect(await ctx().db.account.count({ where: { email: account.email } })).toBe(0);
  clock.advance(7 * DAY_MS);
  expect((await newAccount({ email: account.email })).email).toBe(account.email);
});

test("the account itself can return to its old email", async () => {
  const [account, email] = [await newVerified(), newEmail()];
  await changeTo(account, email);
  await requestChange(account, account.email);
  const confirmed = await confirmChange(await tokenTo(account.email, "email-change"), { token: account.token });
  expect(confirmed.status).toBe(200);
  expect(await emailOf(account.token)).toBe(account.email);
});

test("a reset that the old email's owner requests after the change brings the link that undoes it", async () => {
  const account = await newVerified();
  await changeTo(account, newEmail());
  await expect.poll(() => ctx().db.queuedEmail.count({ where: { email: account.email } })).toBe(0);
  const before = undoEmailsTo(account.email);
  await post("/api/auth/reset/request", { email: account.email });
  await expect.poll(() => undoEmailsTo(account.email)).toBe(before + 1);
  expect(mailbox.to(account.email).join()).not.toContain("/reset#token=");
});

test("after ten invalid links a network has to wait", async () => {
  const ip = "203.0.113.90";
  const undo = () => post("/api/auth/email/change/undo", { token: "x" }, { ip });
  for (let i = 0; i < 10; i++) expect((await undo()).status).toBe(400);
  expect((await undo()).status).toBe(429);
});

/** How many emails with the link that undoes a change an email got. */
const undoEmailsTo = (email: string) =>
  mailbox.to(email).filter((message) => message.includes("/email-change/undo#token=")).length;

/** The token of an email that got a notice instead: what its owner would have to guess. */
async function confirmTokenOf(accountId: string): Promise<string> {
  const { id } = await ctx().db.emailChange.findFirstOrThrow({ where: { accountId, confirmedAt: null } });
  const { emailedToken } = await import("@/lib/auth/emailed-token");
  return emailedToken(ctx().config, "email-change", id);
}
