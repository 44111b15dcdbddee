import { describe, expect, test } from "vitest";
import { AppError } from "@/lib/errors";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const MINUTE_MS = 60_000;
const NEW_PASSWORD = "an entirely new password";

/** Requests a reset. Returns the token in the n-th email. */
async function emailedToken(email: string, n = 1): Promise<string> {
  const response = await post("/api/auth/reset/request", { email });
  expect(response.status).toBe(202);
  expect(await response.json()).toEqual({ status: "accepted" });
  const link = new RegExp(`${BASE_URL}/reset#token=([\\w-]+)`).exec(await mailbox.waitFor(email, n));
  // If the clock passes the end of the lease before the email is settled, the email is sent again.
  await expect.poll(() => ctx().db.queuedEmail.count({ where: { email } })).toBe(0);
  return link?.[1] ?? "no link in the email";
}

const confirm = (token: string, password = NEW_PASSWORD) => post("/api/auth/reset/confirm", { token, password });

// ASVS 6.3.7
test("the emailed link sets a new password, once, and ends every session", async () => {
  const { email, password, token: session } = await newAccount();
  const token = await emailedToken(email);
  const response = await confirm(token);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "password_reset", identities: [] });
  expect((await get("/api/push/devices", { token: session })).status).toBe(401);
  expect((await post("/api/auth/login", { email, password })).status).toBe(401);
  const login = await post("/api/auth/login", { email, password: NEW_PASSWORD });
  expect(await login.json()).toMatchObject({ user: { emailVerified: true } });
  expect((await confirm(token)).status).toBe(400);
  expect(await mailbox.waitFor(email, 2)).toContain("was changed");
});

test("an email without an account gets the same response, and nothing is sent", async () => {
  const email = `nobody-${crypto.randomUUID()}@example.com`;
  const response = await post("/api/auth/reset/request", { email });
  expect(response.status).toBe(202);
  expect(await response.json()).toEqual({ status: "accepted" });
  const known = await newAccount();
  await emailedToken(known.email);
  expect(mailbox.to(email)).toEqual([]);
});

// ASVS 6.4.1, 6.4.3
test("unknown, replaced and expired tokens get the same response", async () => {
  const { email } = await newAccount();
  const first = await emailedToken(email, 1);
  clock.advance(31 * MINUTE_MS);
  const second = await emailedToken(email, 2);
  clock.advance(31 * MINUTE_MS);
  for (const token of ["x", first, second]) {
    const response = await confirm(token);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_or_expired_token" });
  }
});

test("a request by a stranger does not invalidate the link that the owner has received", async () => {
  const { email } = await newAccount();
  const first = await emailedToken(email, 1);
  clock.advance(29 * MINUTE_MS);
  expect(await emailedToken(email, 2)).toBe(first);
  clock.advance(29 * MINUTE_MS);
  expect((await confirm(first)).status).toBe(200);
});

// ASVS 14.2.1
test("a link that is half an hour old is replaced by the next request", async () => {
  const { email } = await newAccount();
  const first = await emailedToken(email, 1);
  clock.advance(29 * MINUTE_MS);
  await emailedToken(email, 2);
  clock.advance(2 * MINUTE_MS);
  const second = await emailedToken(email, 3);
  expect((await confirm(first)).status).toBe(400);
  expect((await confirm(second)).status).toBe(200);
  expect(await emailedToken(email, 5)).not.toBe(second); // the fourth is the notice of the change
});

test("a token of another version or secret is replaced", async () => {
  const { id, email } = await newAccount();
  await emailedToken(email, 1);
  await ctx().db.passwordResetToken.update({ where: { accountId: id }, data: { tokenHash: "another's" } });
  expect((await confirm(await emailedToken(email, 2))).status).toBe(200);
});

// ASVS 7.4.3
test("after a reset, every route refuses a stolen cookie and a stolen token", async () => {
  const { email, password, token: bearer } = await newAccount();
  const login = await post("/api/auth/login", { email, password }, { headers: { origin: BASE_URL } });
  const cookie = (login.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  expect((await post("/api/push/register", { token: "cd".repeat(32) }, { token: bearer })).status).toBe(202);
  expect((await confirm(await emailedToken(email))).status).toBe(200);
  for (const stolen of [{ cookie }, { token: bearer }]) {
    for (const path of ["/api/push/devices", "/api/subscription/status", "/api/auth/account/export"]) {
      expect((await get(path, stolen)).status).toBe(401);
    }
  }
  expect(await (await get("/api/auth/session", { cookie })).json()).toEqual({});
  const signIn = await post("/api/auth/login", { email, password: NEW_PASSWORD });
  const { token } = await signIn.json();
  expect(await (await get("/api/push/devices", { token })).json()).toEqual({ devices: [] });
});

// ASVS 7.4.3
test("a sign-in that started before a reset leaves no session", async () => {
  const { id, email, password } = await newAccount();
  const token = await emailedToken(email);
  const { compare } = ctx().hasher;
  const hasher = {
    ...ctx().hasher,
    compare: async (...args: Parameters<typeof compare>) => {
      const isMatch = await compare(...args);
      await confirm(token);
      return isMatch;
    },
  };
  await withContext({ hasher }, async () => {
    expect((await post("/api/auth/login", { email, password })).status).toBe(401);
  });
  expect(await ctx().db.session.count({ where: { accountId: id, revokedAt: null } })).toBe(0);
});

test("an overloaded service does not consume the token", async () => {
  const { email } = await newAccount();
  const token = await emailedToken(email);
  const hasher = { ...ctx().hasher, hash: () => Promise.reject(new AppError("overloaded")) };
  await withContext({ hasher }, async () => expect((await confirm(token)).status).toBe(503));
  expect((await confirm(token)).status).toBe(200);
});

// ASVS 6.4.3, 15.4.2
test("only one of two concurrent uses of a token succeeds", async () => {
  const { email } = await newAccount();
  const token = await emailedToken(email);
  const responses = await Promise.all([
    confirm(token, "password of the first"),
    confirm(token, "password of the second"),
  ]);
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 400]);
});

// ASVS 11.5.1, 14.2.4
test("the token is stored only as a hash", async () => {
  const { email, id } = await newAccount();
  const token = await emailedToken(email);
  const row = await ctx().db.passwordResetToken.findUniqueOrThrow({ where: { accountId: id } });
  expect(row.tokenHash).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify(row)).not.toContain(token);
});

describe("reset requests by strangers", () => {
  const requestReset = async (email: string, ip?: string) =>
    expect((await post("/api/auth/reset/request", { email }, { ip })).status).toBe(202);

  async function countEmails(run: () => Promise<void>): Promise<number> {
    const { emails } = ctx();
    let count = 0;
    const enqueue = ((...email: Parameters<typeof emails.enqueue>) => {
      count += 1;
      return emails.enqueue(...email);
    }) as typeof emails.enqueue;
    await withContext({ emails: { ...emails, enqueue } }, run);
    return count;
  }

  test("from one network send four emails, then one every 20 minutes, and do not block the owner's request", async () => {
    const { email } = await newAccount();
    const sent = await countEmails(async () => {
      for (let i = 0; i < 10; i++) await requestReset(email, "203.0.113.70");
    });
    expect(sent).toBe(4);
    expect(await countEmails(() => requestReset(email))).toBe(1);
  });

  // ASVS 6.3.1
  test("from any number of networks send twelve emails an hour, and the last email contains a valid link", async () => {
    const { email } = await newAccount();
    await emailedToken(email);
    const sent = await countEmails(async () => {
      for (let step = 0; step < 12; step++) {
        if (step > 0) clock.advance(5 * MINUTE_MS);
        for (let network = 0; network < 3; network++) await requestReset(email, `198.51.${step}.${network}`);
        await expect.poll(() => ctx().db.queuedEmail.count({ where: { email } })).toBe(0);
      }
    });
    expect(sent).toBe(11);
    expect(await countEmails(() => requestReset(email))).toBe(0);
    // The last email is at most 20 minutes old, and its link is valid for 30.
    const [, token = ""] = /#token=([\w-]+)/.exec(mailbox.to(email).at(-1) ?? "") ?? [];
    expect((await confirm(token)).status).toBe(200);
  });

  test("are limited in the same way if there is no account", async () => {
    const email = `nobody-${crypto.randomUUID()}@example.com`;
    const sent = await countEmails(async () => {
      for (let i = 0; i < 10; i++) await requestReset(email, "203.0.113.71");
    });
    expect(sent).toBe(4);
  });
});
