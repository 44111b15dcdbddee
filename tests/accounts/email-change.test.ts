import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { emailedToken } from "@/lib/auth/emailed-token";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { eventsOf, newAccount, requestReset } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { clock, ctx, withContext } from "@/tests/support/context";
import {
  changeTo,
  confirmChange,
  emailOf,
  newVerified,
  requestChange,
  tokensTo,
  tokenTo,
  undoChange,
} from "@/tests/support/email-change";
import { mailbox } from "@/tests/support/mailbox";
import { flashOf, submit } from "@/tests/support/web/forms";

const DAY_MS = 24 * 60 * 60 * 1000;
const PENDING = "/api/auth/email/change/pending";

const newEmail = () => `new-${randomUUID()}@example.com`;

const pendingOf = async (token: string) => (await (await get(PENDING, { token })).json()).pending;

const logIn = async (email: string, password: string) => (await post("/api/auth/login", { email, password })).status;

test("the link to the new email changes the email, once, and other sessions stay", async () => {
  const account = await newVerified();
  const [email, other] = [newEmail(), await (await post("/api/auth/login", account)).json()];
  const requested = await requestChange(account, email);
  expect(requested.status).toBe(202);
  expect(await requested.json()).toMatchObject({ status: "confirmation_required", pending: { email } });
  expect(await pendingOf(account.token)).toMatchObject({ email });
  expect(await emailOf(account.token)).toBe(account.email);

  const token = await tokenTo(email, "email-change");
  const confirmed = await confirmChange(token, { token: account.token });
  expect(confirmed.status).toBe(200);
  expect(await confirmed.json()).toMatchObject({ status: "email_changed", user: { email, emailVerified: true } });
  expect([await emailOf(account.token), await emailOf(other.token)]).toEqual([email, email]);
  expect(await pendingOf(account.token)).toBeNull();
  expect(await logIn(email, account.password)).toBe(200);
  expect(await logIn(account.email, account.password)).toBe(401);
  expect((await confirmChange(token, { token: account.token })).status).toBe(400);
  expect(await eventsOf(account.id)).toEqual(expect.arrayContaining(["email_change_requested", "email_changed"]));
});

test("a change requires a recent authentication or the password", async () => {
  const account = await newVerified();
  clock.advance(11 * 60_000);
  const refused = await requestChange({ token: account.token }, newEmail());
  expect([refused.status, (await refused.json()).code]).toEqual([403, "reauthentication_required"]);
  expect((await requestChange({ ...account, password: "not the password" }, newEmail())).status).toBe(403);
  expect(await pendingOf(account.token)).toBeNull();
  expect((await requestChange(account, newEmail())).status).toBe(202);
});

test("the response is the same for an email with an account, whose owner gets a notice and no link", async () => {
  const [account, taken] = [await newVerified(), await newVerified()];
  const responses = [await requestChange(account, newEmail()), await requestChange(account, taken.email)];
  const shapes = await Promise.all(
    responses.map(async (response) => {
      const { status, pending } = await response.json();
      return { http: response.status, status, pending: Object.keys(pending) };
    }),
  );
  expect(shapes[0]).toEqual(shapes[1]);
  expect(await pendingOf(account.token)).toMatchObject({ email: taken.email });
  expect(await mailbox.waitFor(taken.email)).not.toContain("#token=");
  expect(await emailOf(taken.token)).toBe(taken.email);
});

test("an email that another account takes before the confirmation stays with that account", async () => {
  const [account, email] = [await newVerified(), newEmail()];
  await requestChange(account, email);
  const token = await tokenTo(email, "email-change");
  const other = await newAccount({ email });
  const refused = await confirmChange(token, { token: account.token });
  expect([refused.status, (await refused.json()).code]).toEqual([409, "email_taken"]);
  expect([await emailOf(account.token), await emailOf(other.token)]).toEqual([account.email, email]);
});

test("of two accounts that confirm the same email at once, one gets it", async () => {
  const [ann, bob, email] = [await newVerified(), await newVerified(), newEmail()];
  await requestChange(ann, email);
  const first = await tokenTo(email, "email-change");
  await requestChange(bob, email);
  const second = await tokenTo(email, "email-change", 2);
  const responses = await Promise.all([
    confirmChange(first, { token: ann.token }),
    confirmChange(second, { token: bob.token }),
  ]);
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(await ctx().db.account.count({ where: { email } })).toBe(1);
});

test("a link that was replaced, canceled or sent 24 hours ago no longer works", async () => {
  const [account, first, second] = [await newVerified(), newEmail(), newEmail()];
  const { token } = account;
  const statusOf = async (link: string) => (await confirmChange(link, { token })).status;
  await requestChange(account, first);
  const replaced = await tokenTo(first, "email-change");
  await requestChange(account, second);
  expect(await pendingOf(token)).toMatchObject({ email: second });
  const canceled = await tokenTo(second, "email-change");
  for (let i = 0; i < 2; i++) expect((await call("DELETE", PENDING, { token })).status).toBe(204);
  expect(await pendingOf(token)).toBeNull();
  expect((await eventsOf(account.id)).filter((type) => type === "email_change_canceled")).toHaveLength(1);
  const third = newEmail();
  await requestChange(account, third);
  const expired = await tokenTo(third, "email-change");
  expect([await statusOf(replaced), await statusOf(canceled)]).toEqual([400, 400]);
  clock.advance(DAY_MS);
  expect(await statusOf(expired)).toBe(400);
  expect(await pendingOf(token)).toBeNull();
});

test("a link that was replaced does not work after the clock was set back either", async () => {
  const [account, email] = [await newVerified(), newEmail()];
  await requestChange(account, email);
  const replaced = await tokenTo(email, "email-change");
  await requestChange(account, newEmail());
  clock.advance(-60_000);
  expect((await confirmChange(replaced, { token: account.token })).status).toBe(400);
  expect(await emailOf(account.token)).toBe(account.email);
});

test("a link works in a session of its own account only: it cannot give a stranger's account one's email", async () => {
  const [stranger, victim, email] = [await newVerified(), await newVerified(), newEmail()];
  await requestChange(stranger, email);
  const token = await tokenTo(email, "email-change");
  expect((await confirmChange(token, { token: victim.token })).status).toBe(400);
  expect((await confirmChange(token, {})).status).toBe(401);
  expect(await emailOf(stranger.token)).toBe(stranger.email);
});

describe("the old email's owner", () => {
  test("revokes the pending change by a password reset", async () => {
    const [account, email] = [await newVerified(), newEmail()];
    await requestChange(account, email);
    const token = await tokenTo(email, "email-change");
    const reset = await requestReset(account.email);
    await post("/api/auth/reset/confirm", { token: reset, password: "an entirely new one" });
    const { token: session } = await (
      await post("/api/auth/login", { email: account.email, password: "an entirely new one" })
    ).json();
    expect((await confirmChange(token, { token: session })).status).toBe(400);
    expect(await pendingOf(session)).toBeNull();
  });

  test("cannot reset the password with a link from before the change", async () => {
    const [account, email] = [await newVerified(), newEmail()];
    const reset = await requestReset(account.email);
    await changeTo(account, email);
    const refused = await post("/api/auth/reset/confirm", { token: reset, password: "an entirely new one" });
    expect([refused.status, (await refused.json()).code]).toEqual([400, "invalid_or_expired_token"]);
    expect(await logIn(email, account.password)).toBe(200);
  });

  // ASVS 6.3.7
  test("gets the link that undoes the change, if the email was verified", async () => {
    const [account, email] = [await newVerified(), newEmail()];
    await changeTo(account, email);
    expect(tokensTo(account.email, "email-change/undo")).toHaveLength(1);
    expect(tokensTo(email, "email-change/undo")).toEqual([]);
    expect(mailbox.to(account.email).join()).toContain(email);
  });

  test("gets nothing if the email was never verified, because it may be a stranger's", async () => {
    const [account, email] = [await newAccount(), newEmail()];
    await requestChange(account, email);
    expect((await confirmChange(await tokenTo(email, "email-change"), { token: account.token })).status).toBe(200);
    expect(await emailOf(account.token)).toBe(email);
    await expect.poll(() => ctx().db.queuedEmail.count({ where: { email } })).toBe(0);
    expect(mailbox.to(account.email)).toEqual([]);
    expect((await newAccount({ email: account.email })).email).toBe(account.email);
  });
});

test("the new email's owner can reset the password after the change, and not before", async () => {
  const [account, email] = [await newVerified(), newEmail()];
  await requestChange(account, email);
  await post("/api/auth/reset/request", { email });
  const token = await tokenTo(email, "email-change");
  await confirmChange(token, { token: account.token });
  expect(mailbox.to(email).join()).not.toContain("/reset#token=");
  const reset = await requestReset(email);
  expect((await post("/api/auth/reset/confirm", { token: reset, password: "an entirely new one" })).status).toBe(200);
  expect(await logIn(email, "an entirely new one")).toBe(200);
});

test("one's own email is refused, and five changes a day can be requested", async () => {
  const account = await newVerified();
  const own = await requestChange(account, account.email.toUpperCase());
  expect((await own.json()).errors).toEqual([
    { pointer: "/email", code: "unchanged", detail: "This is already your email" },
  ]);
  for (let i = 0; i < 5; i++) expect((await requestChange(account, newEmail())).status).toBe(202);
  expect((await requestChange(account, newEmail())).status).toBe(429);
});

test("hostile emails and tokens are refused, and no token is stored", async () => {
  const account = await newVerified();
  for (const email of ["", "a@b@example.com", 7, null])
    expect((await post("/api/auth/email/change", { email }, { token: account.token })).status).toBe(422);
  for (const token of ["x", "x".repeat(256)]) expect((await confirmChange(token, account)).status).toBe(400);
  expect((await post("/api/auth/email/change", { email: newEmail() })).status).toBe(401);
  const email = newEmail();
  await requestChange(account, email);
  const token = await tokenTo(email, "email-change");
  expect(JSON.stringify(await ctx().db.emailChange.findMany())).not.toContain(token);
});

const emailOfAccount = async (id: string) => (await ctx().db.account.findUniqueOrThrow({ where: { id } })).email;

test("the link to the old email restores it, ends all sessions, revokes every link and asks for a new password", async () => {
  const [account, email] = [await newVerified(), newEmail()];
  const undo = await changeTo(account, email);
  const reset = await requestReset(email);
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
  expect((await post("/api/auth/login", { email: account.email, password: "an entirely new one" })).status).toBe(200);
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

test("a change that was requested after the clock was set back is undone too", async () => {
  const [account, later] = [await newVerified(), newEmail()];
  await requestChange(account, newEmail());
  const undo = await tokenTo(account.email, "email-change/undo");
  clock.advance(-1_000);
  await requestChange(account, later);
  const confirm = await tokenTo(later, "email-change");
  expect((await undoChange(undo)).status).toBe(200);
  expect(flashOf(await submit("email-change/open", { token: confirm }))?.message).toBe("This link is no longer valid.");
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
  return emailedToken(ctx().config, "email-change", id);
}
