import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAppError } from "@/lib/errors";
import { createRateLimits, type LimitName, type RateLimits } from "@/lib/platform/rate-limits";
import { call, get, post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { flashOf, submit } from "@/tests/support/web/forms";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The limits of another instance of the service, which shares the database. */
const otherInstance = () => createRateLimits({ ...ctx(), pseudonymOf: ctx().limits.pseudonymOf });
/** The limits of an instance whose database is down. */
const withoutDatabase = () =>
  createRateLimits({
    ...ctx(),
    pseudonymOf: ctx().limits.pseudonymOf,
    db: new Proxy(ctx().db, {
      get: () => () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })),
    }),
  });

/** Whether a use is within the limit. */
async function isWithin(limits: RateLimits, limit: LimitName, key: string): Promise<boolean> {
  try {
    await limits.consume(limit, key);
    return true;
  } catch (error) {
    if (isAppError(error) && error.code === "rate_limited") return false;
    throw error;
  }
}

const isTrue = (one: boolean) => one;
const newKey = () => crypto.randomUUID();

/** Confirms a password reset with a wrong token: 10 of these are allowed in 15 minutes. */
const confirmReset = (address: string) =>
  post("/api/auth/reset/confirm", { token: "x", password: "an entirely new password" }, { ip: address });

describe.each([
  ["in the database", () => ctx().limits],
  ["in memory, while the database is down,", withoutDatabase],
])("a limit that is counted %s", (_, open) => {
  // ASVS 2.3.2
  test("refuses further requests until its window ends, and describes itself in the headers", async () => {
    const address = `2001:db8:${newKey().slice(0, 4)}::1`;
    await withContext({ limits: open() }, async () => {
      for (let i = 0; i < 10; i++) expect((await confirmReset(address)).status).toBe(400);
      clock.advance(10 * MINUTE_MS);
      const refused = await confirmReset(address);
      expect(refused.status).toBe(429);
      const seconds = Number(refused.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(300);
      expect(refused.headers.get("ratelimit-policy")).toBe('"resetConfirmByIp";q=10;w=900');
      expect(refused.headers.get("ratelimit")).toBe(`"resetConfirmByIp";r=0;t=${seconds}`);
      clock.advance(seconds * 1000);
      expect((await confirmReset(address)).status).toBe(400);
    });
  });

  test("counts each key and each limit separately", async () => {
    const limits = open();
    const [key, other] = [newKey(), newKey()];
    for (let i = 0; i < 4; i++) await isWithin(limits, "resetMailByNetwork", key);
    expect(await isWithin(limits, "resetMailByNetwork", key)).toBe(false);
    expect(await isWithin(limits, "resetMailByNetwork", other)).toBe(true);
    expect(await isWithin(limits, "verificationMailByNetwork", key)).toBe(true);
  });

  test("allows as many uses again as are refunded", async () => {
    const limits = open();
    const key = newKey();
    for (let i = 0; i < 10; i++) await limits.consume("resetConfirmByIp", key);
    await limits.refund("resetConfirmByIp", key, 2);
    const further = [];
    for (let i = 0; i < 4; i++) further.push(await isWithin(limits, "resetConfirmByIp", key));
    expect(further).toEqual([true, true, false, false]);
  });

  test("has no window that a clock which ran ahead started", async () => {
    const limits = open();
    const key = newKey();
    clock.advance(DAY_MS);
    for (let i = 0; i < 5; i++) await isWithin(limits, "resetMailByNetwork", key);
    clock.reset();
    expect(await isWithin(limits, "resetMailByNetwork", key)).toBe(true);
  });

  // ASVS 2.3.4
  test("allows exactly its number of simultaneous uses", async () => {
    const limits = open();
    const key = newKey();
    const results = await Promise.all(Array.from({ length: 70 }, () => isWithin(limits, "loginByIp", key)));
    expect(results.filter(isTrue)).toHaveLength(60);
  });
});

test("instances share their counts, and do not block each other", async () => {
  const instances = [ctx().limits, otherInstance(), otherInstance()];
  const keys = Array.from({ length: 20 }, newKey);
  const uses = instances.flatMap((limits, i) => (i % 2 ? keys : keys.toReversed()).map((key) => ({ limits, key })));
  const rounds = Array.from({ length: 5 }, () =>
    uses.map(({ limits, key }) => isWithin(limits, "resetMailByEmail", key)),
  );
  expect((await Promise.all(rounds.flat())).filter(isTrue)).toHaveLength(keys.length * 9);
});

test("counts are not written to the write-ahead log", async () => {
  const [table] = await ctx().db.$queryRaw<{ kind: string }[]>`
    SELECT relpersistence::text AS "kind" FROM pg_class WHERE oid = '"RateLimitCounter"'::regclass`;
  expect(table).toEqual({ kind: "u" });
});

// ASVS 14.2.4
test("counts contain no email or IP address", async () => {
  const key = `${newKey()}@example.com`;
  await ctx().limits.consume("resetMailByEmail", key);
  const rows = await ctx().db.rateLimitCounter.findMany();
  expect(JSON.stringify(rows)).not.toContain(key);
  expect(rows.map((row) => row.key)).toContain(`resetMailByEmail:${await ctx().limits.pseudonymOf(key)}`);
});

test("uses that are counted in one statement have the same outcomes as one at a time", async () => {
  const use = fc.record({ key: fc.integer({ min: 0, max: 2 }), isRefund: fc.boolean(), minutes: fc.nat({ max: 15 }) });
  const turns = fc.array(fc.array(use, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 5 });
  const apply = (prefix: string, { key, isRefund }: { key: number; isRefund: boolean }) =>
    isRefund
      ? ctx().limits.refund("resetMailByNetwork", prefix + key)
      : isWithin(ctx().limits, "resetMailByNetwork", prefix + key);
  await fc.assert(
    fc.asyncProperty(turns, async (given) => {
      const [batched, single] = [newKey(), newKey()];
      for (const uses of given) {
        clock.advance((uses[0]?.minutes ?? 0) * MINUTE_MS);
        const together = await Promise.all(uses.map((one) => apply(batched, one)));
        const alone = [];
        for (const one of uses) alone.push(await apply(single, one));
        expect(together).toEqual(alone);
      }
    }),
    { numRuns: 10, seed: 20_261_122 },
  );
});

// ASVS 2.4.2
test("people do the same thing once in two seconds, if that is configured", () =>
  withContext({ config: { ...ctx().config, AUTH_HUMAN_PACE: true } }, async () => {
    const ip = "203.0.113.74";
    const register = () =>
      post("/api/auth/register", { email: `pace-${newKey()}@example.com`, password: "a password at leisure" }, { ip });
    const first = await register();
    const { token } = await first.json();
    const refused = await register();
    expect([first.status, refused.status]).toEqual([201, 429]);
    expect(refused.headers.get("retry-after")).toMatch(/^[12]$/);
    const preferences = (json: unknown) => call("PUT", "/api/push/preferences", { json, token, ip });
    expect((await preferences({ preferences: {} })).status).not.toBe(429);
    expect((await preferences({ preferences: {} })).status).toBe(429);
    expect((await get("/api/push/preferences", { token, ip })).status).toBe(200);
    expect((await get("/api/push/preferences", { token, ip })).status).toBe(200);
    const forgot = () => submit("forgot", { email: "ann@example.com" }, { ip });
    expect(flashOf(await forgot())).toBeNull();
    expect(flashOf(await forgot())?.message).toMatch(/too many/i);
    clock.advance(2_000);
    expect((await register()).status).toBe(201);
    clock.reset();
  }));
