import { describe, expect, test, vi } from "vitest";
import { AppError } from "@/lib/errors";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const MINUTE_MS = 60_000;
const NEW_PASSWORD = "an entirely new password";

/** Requests a reset and takes the token out of the mail. */
async function mailedToken(email: string, n = 1): Promise<string> {
  const response = await post("/api/auth/reset/request", { email });
  expect(response.status).toBe(202);
  expect(await response.json()).toEqual({ status: "accepted" });
  const link = new RegExp(`${BASE_URL}/reset#token=([\\w-]+)`).exec(await mailbox.waitFor(email, n));
  // Until it is settled, the clock must not pass the end of its lease: it would be sent again.
  await expect.poll(() => ctx().db.queuedEmail.count({ where: { email } })).toBe(0);
  return link?.[1] ?? "no link in the mail";
}

const confirm = (token: string, password = NEW_PASSWORD) => post("/api/auth/reset/confirm", { token, password });

test("the mailed link sets a new password, once, and ends every session", async () => {
  const { email, password, token: session } = await newAccount();
  const token = await mailedToken(email);
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

test("an address without an account gets the same answer and no mail", async () => {
  const email = `nobody-${crypto.randomUUID()}@example.com`;
  const response = await post("/api/auth/reset/request", { email });
  expect(response.status).toBe(202);
  expect(await response.json()).toEqual({ status: "accepted" });
  const known = await newAccount();
  await mailedToken(known.email);
  expect(mailbox.to(email)).toEqual([]);
});

test("unknown, replaced and expired tokens get one and the same answer", async () => {
  const { email } = await newAccount();
  const first = await mailedToken(email, 1);
  clock.advance(31 * MINUTE_MS);
  const second = await mailedToken(email, 2);
  clock.advance(31 * MINUTE_MS);
  for (const token of ["x", first, second]) {
    const response = await confirm(token);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_or_expired_token" });
  }
});

test("a stranger who asks again does not break the link that its owner is about to follow", async () => {
  const { email } = await newAccount();
  const first = await mailedToken(email, 1);
  clock.advance(29 * MINUTE_MS);
  expect(await mailedToken(email, 2)).toBe(first);
  clock.advance(29 * MINUTE_MS);
  expect((await confirm(first)).status).toBe(200);
});

test("a link of half an hour ago is replaced by the next", async () => {
  const { email } = await newAccount();
  const first = await mailedToken(email, 1);
  clock.advance(29 * MINUTE_MS);
  await mailedToken(email, 2);
  clock.advance(2 * MINUTE_MS);
  const second = await mailedToken(email, 3);
  expect((await confirm(first)).status).toBe(400);
  expect((await confirm(second)).status).toBe(200);
  expect(await mailedToken(email, 5)).not.toBe(second); // the fourth says that the password was changed
});

test("a token that another version or secret made is replaced", async () => {
  const { id, email } = await newAccount();
  await mailedToken(email, 1);
  await ctx().db.passwordResetToken.update({ where: { accountId: id }, data: { tokenHash: "another's" } });
  expect((await confirm(await mailedToken(email, 2))).status).toBe(200);
});

test("a stolen cookie and a stolen token are worth nothing after a reset, wherever they are tried", async () => {
  const { email, password, token: bearer } = await newAccount();
  const login = await post("/api/auth/login", { email, password }, { headers: { origin: BASE_URL } });
  const cookie = (login.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  const device = await post("/api/push/register", { token: "cd".repeat(32) }, { token: bearer });
  expect(device.status).toBe(202);
  expect((await confirm(await mailedToken(email))).status).toBe(200);
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

test("a sign-in that began before a reset does not outlive it", async () => {
  const { id, email, password } = await newAccount();
  const token = await mailedToken(email);
  const { compare } = ctx().hasher;
  const hasher = {
    ...ctx().hasher,
    compare: async (...given: Parameters<typeof compare>) => {
      const isRight = await compare(...given);
      await confirm(token);
      return isRight;
    },
  };
  await withContext({ hasher }, async () => {
    expect((await post("/api/auth/login", { email, password })).status).toBe(401);
  });
  expect(await ctx().db.session.count({ where: { accountId: id, revokedAt: null } })).toBe(0);
});

test("a moment that is too busy does not use the token up", async () => {
  const { email } = await newAccount();
  const token = await mailedToken(email);
  const hasher = { ...ctx().hasher, hash: () => Promise.reject(new AppError("overloaded")) };
  await withContext({ hasher }, async () => expect((await confirm(token)).status).toBe(503));
  expect((await confirm(token)).status).toBe(200);
});

test("a password that the policy refuses does not use the token up", async () => {
  const { email } = await newAccount();
  const token = await mailedToken(email);
  expect((await confirm(token, "short")).status).toBe(422);
  expect((await confirm(token)).status).toBe(200);
});

test("of two uses of one token at the same moment one wins", async () => {
  const { email } = await newAccount();
  const token = await mailedToken(email);
  const answers = await Promise.all([
    confirm(token, "password of the first"),
    confirm(token, "password of the second"),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
});

test("the token is kept as a hash alone", async () => {
  const { email, id } = await newAccount();
  const token = await mailedToken(email);
  const row = await ctx().db.passwordResetToken.findUniqueOrThrow({ where: { accountId: id } });
  expect(row.tokenHash).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify(row)).not.toContain(token);
});

describe("strangers who ask for somebody's reset", () => {
  const ask = async (email: string, address?: string) =>
    expect((await post("/api/auth/reset/request", { email }, { address })).status).toBe(202);

  /** The limits have a clock of their own. */
  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    await ctx().db.$executeRaw`UPDATE "RateLimit" SET "expire" = "expire" - ${ms}::bigint`;
  }

  /** How many mails are promised while something runs. */
  async function countMails(run: () => Promise<void>): Promise<number> {
    const { emails } = ctx();
    let count = 0;
    const enqueue: typeof emails.enqueue = (...email) => {
      count += 1;
      return emails.enqueue(...email);
    };
    await withContext({ emails: { ...emails, enqueue } }, run);
    return count;
  }

  test("from one network bring four mails and then one each 20 minutes, and do not stop the owner's own", async () => {
    const { email } = await newAccount();
    const mails = await countMails(async () => {
      for (let i = 0; i < 10; i++) await ask(email, "203.0.113.70");
    });
    expect(mails).toBe(4);
    expect(await countMails(() => ask(email))).toBe(1);
  });

  test("from as many networks as they like bring twelve mails an hour, and whoever then asks has a link that works", async () => {
    const { email } = await newAccount();
    await mailedToken(email);
    const mails = await countMails(async () => {
      for (let step = 0; step < 12; step++) {
        if (step > 0) await pass(5 * MINUTE_MS);
        for (let network = 0; network < 12; network++) await ask(email, `198.51.${step}.${network}`);
        await vi.waitFor(async () => expect(await ctx().db.queuedEmail.count({ where: { email } })).toBe(0));
      }
    });
    expect(mails).toBe(11);
    expect(await countMails(() => ask(email))).toBe(0);
    // The latest mail is 20 minutes old at most, and its link good for 30.
    const [, token = ""] = /#token=([\w-]+)/.exec(mailbox.to(email).at(-1) ?? "") ?? [];
    expect((await confirm(token)).status).toBe(200);
  });

  test("whether there is an account or not", async () => {
    const email = `nobody-${crypto.randomUUID()}@example.com`;
    const mails = await countMails(async () => {
      for (let i = 0; i < 10; i++) await ask(email, "203.0.113.71");
    });
    expect(mails).toBe(4);
  });
});
