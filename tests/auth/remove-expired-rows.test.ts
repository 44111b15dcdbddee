import { expect, test } from "vitest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

// ASVS 14.2.7
test("expired sessions, reset tokens and sign-in failures are removed, and live ones are kept", async () => {
  const [old, live] = [await newAccount(), await newAccount()];
  const { db } = ctx();
  await post("/api/auth/login", { email: old.email, password: "a wrong one" });
  await post("/api/auth/reset/request", { email: old.email });
  await expect.poll(() => db.passwordResetToken.count({ where: { accountId: old.id } })).toBe(1);
  await db.session.update({ where: { id: old.sessionId }, data: { expiresAt: ctx().now() } });
  clock.advance(DAY_MS + 60_000);
  await removeExpiredRows(ctx());
  expect(await db.session.count({ where: { accountId: old.id } })).toBe(0);
  expect(await db.passwordResetToken.count({ where: { accountId: old.id } })).toBe(0);
  expect(await db.signInThrottle.count({ where: { key: await ctx().limits.pseudonymOf(old.email) } })).toBe(0);
  expect((await get("/api/push/devices", { token: live.token })).status).toBe(200);
});

test("a client is recognized for 180 days after its last sign-in", async () => {
  const { id } = await newAccount();
  const count = () => ctx().db.recognizedClient.count({ where: { accountId: id } });
  clock.advance(180 * DAY_MS - 60_000);
  await removeExpiredRows(ctx());
  expect(await count()).toBe(1);
  clock.advance(2 * 60_000);
  await removeExpiredRows(ctx());
  expect(await count()).toBe(0);
});

test("an account recognizes at most fifty clients, the last to sign in", async () => {
  const { id, email, password } = await newAccount();
  const { db, limits } = ctx();
  const keys = Array.from({ length: 60 }, (_, i) => ({
    key: `${id} ${i}`,
    accountId: id,
    expiresAt: new Date(ctx().now().getTime() + i * 1000),
  }));
  await db.recognizedClient.createMany({ data: keys });
  const ip = "192.0.2.77";
  expect((await post("/api/auth/login", { email, password }, { ip })).status).toBe(200);
  const kept = await db.recognizedClient.findMany({ where: { accountId: id }, select: { key: true } });
  expect(kept).toHaveLength(50);
  expect(kept).toContainEqual({ key: await limits.pseudonymOf(`network ${ip} ${email}`) });
  expect(kept).not.toContainEqual({ key: `${id} 0` });
});

test("expired windows of rate limits are removed, in any number, and open ones are kept", async () => {
  const { db } = ctx();
  const prefix = crypto.randomUUID();
  await db.$executeRaw`
    INSERT INTO "RateLimitCounter" ("key", "uses", "expiresAt")
    SELECT ${prefix} || i, 1, ${ctx().dbNow()} + interval '1 hour' * i FROM generate_series(1, 2500) AS i`;
  clock.advance(2_499.5 * HOUR_MS);
  await removeExpiredRows(ctx());
  expect(await db.rateLimitCounter.count({ where: { key: { startsWith: prefix } } })).toBe(1);
});

test("an account from the time when verification was not required has 30 days once it is, if nobody uses it", async () => {
  const names = ["unused", "used", "customer", "support", "disabled", "verified"] as const;
  const accounts = await Promise.all(names.map(() => newAccount()));
  const [unused, used, customer, support, disabled, verified] = accounts.map(({ id }) => id) as [string, ...string[]];
  const { db } = ctx();
  await db.purchase.create({
    data: {
      accountId: customer,
      provider: "revenuecat",
      environment: "production",
      store: "app_store",
      originalTransactionId: unused,
    },
  });
  await db.account.update({ where: { id: support }, data: { role: "support" } });
  await db.account.update({ where: { id: disabled }, data: { disabledAt: ctx().now() } });
  await db.account.update({ where: { id: verified }, data: { emailVerifiedAt: ctx().now() } });
  const remaining = async () => {
    const rows = await db.account.findMany({ where: { id: { in: accounts.map(({ id }) => id) } } });
    return names.filter((_, i) => rows.some(({ id }) => id === accounts[i]?.id));
  };
  const removeAt = async (ms: number, AUTH_REQUIRE_VERIFIED_EMAIL: boolean) => {
    clock.advance(ms);
    await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL } }, () => removeExpiredRows(ctx()));
    return remaining();
  };
  expect(await removeAt(90 * DAY_MS - 60_000, false)).toEqual(names);
  await db.session.updateMany({
    where: { accountId: used },
    data: {
      expiresAt: new Date(ctx().now().getTime() + 40 * DAY_MS),
      idleExpiresAt: new Date(ctx().now().getTime() + 40 * DAY_MS),
    },
  });
  expect(await removeAt(0, true)).toEqual(names);
  expect(await removeAt(29 * DAY_MS, true)).toEqual(names);
  expect(await removeAt(2 * DAY_MS, false)).toEqual(names);
  expect(await removeAt(0, true)).toEqual(names.slice(1));
});
