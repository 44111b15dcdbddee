import type { Context, Tx } from "../context";
import { rateLimited } from "../errors";
import type { Prisma } from "../platform/db/generated/client";
import { join, sql } from "../platform/db/sql";
import { MAX_CLOCK_DIFFERENCE_MS, type WaitRule, waitMs } from "../platform/limits";
import type { Caller } from "../principal";
import { clientKeys, recognizedClientCondition } from "./recognized-clients";

type Deps = Pick<Context, "config" | "db" | "limits" | "now">;

const MINUTE_MS = 60 * 1000;
/** How long failures are kept after the last one and its wait. */
const FAILURE_TTL_MS = 24 * 60 * MINUTE_MS;
/** How long an attempt blocks the next one, if failures have to wait at all. */
const LEASE_MS = MINUTE_MS;

type Rule = WaitRule & { name: string; advice: string };
const WRONG_PASSWORDS = "Too many wrong passwords. Reset the password to sign in now.";
/** For one device or network. */
const BY_CLIENT: Rule = { name: "loginByClient", freeFailures: 10, maxWaitMinutes: 60, advice: WRONG_PASSWORDS };
/** For all clients together that the account does not recognize. */
const BY_UNRECOGNIZED_CLIENTS: Rule = { ...BY_CLIENT, name: "loginByEmail", freeFailures: 30, maxWaitMinutes: 24 * 60 };
const BY_SESSIONS: Rule = { ...BY_CLIENT, name: "reauthenticationByAccount" };

/** Wrong second factors of an account. Each kind has a counter of its own, so that one works while another waits. */
const SECOND_FACTORS = {
  // Three codes of a million are right at a time. About 100 are guessed in a quarter of a year.
  totp: {
    name: "totpByAccount",
    freeFailures: 5,
    maxWaitMinutes: 24 * 60,
    advice: "Too many wrong codes. Use a recovery code to sign in now.",
  },
  recovery_code: {
    name: "recoveryCodeByAccount",
    freeFailures: 10,
    maxWaitMinutes: 60,
    advice: "Too many wrong recovery codes. Use your authenticator app to sign in now.",
  },
} satisfies Record<string, Rule>;

type Counter = { key: string; rule: Rule };
type Candidate = Counter & { condition: Prisma.Sql };
/** The counters of a sign-in attempt. `failures` includes the attempt itself. */
export type AttemptCounters = (Counter & { failures: number })[];

/**
 * Starts a sign-in attempt, and counts it as a failure until it succeeds, so that concurrent guesses count too. Known and
 * unknown emails are counted alike. Clients that the account recognizes have their own counters, so that strangers cannot
 * lock the owner out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). @throws AppError rate_limited
 */
export async function beginAttempt(ctx: Deps, email: string, caller: Caller): Promise<AttemptCounters> {
  const { network } = await clientKeys(ctx, email, caller);
  const unrecognizedCondition = sql`NOT ${recognizedClientCondition(network, ctx.now())}`;
  return countAttempt(ctx, [
    { key: network, rule: BY_CLIENT, condition: sql`true` },
    { key: await ctx.limits.pseudonymOf(email), rule: BY_UNRECOGNIZED_CLIENTS, condition: unrecognizedCondition },
  ]);
}

/** The same for a browser that the account recognizes by its cookie; null for others. @throws AppError rate_limited */
export async function beginAttemptByDevice(ctx: Deps, email: string, caller: Caller) {
  if (caller.isNewDevice) return null;
  const { device } = await clientKeys(ctx, email, caller);
  const condition = recognizedClientCondition(device, ctx.now());
  const attempt = await countAttempt(ctx, [{ key: device, rule: BY_CLIENT, condition }]);
  return attempt.length > 0 ? attempt : null;
}

/** The same for a signed-in caller who enters the password again. @throws AppError rate_limited */
export async function beginReauthentication(ctx: Deps, accountId: string): Promise<AttemptCounters> {
  const key = await ctx.limits.pseudonymOf(`reauthentication ${accountId}`);
  return countAttempt(ctx, [{ key, rule: BY_SESSIONS, condition: sql`true` }]);
}

/** Where a second factor is given: at sign-in, after the first one, or by a session that is signed in. */
export type FactorPlace = "sign-in" | "session";

/**
 * The same for a second factor of an account, from any client. Sessions have a counter of their own, so that a stolen one
 * cannot hold back the owner's sign-in. @throws AppError rate_limited
 */
export async function beginSecondFactor(
  ctx: Deps,
  kind: keyof typeof SECOND_FACTORS,
  accountId: string,
  place: FactorPlace,
): Promise<AttemptCounters> {
  const inSession = place === "session" ? " in sessions" : "";
  const key = await ctx.limits.pseudonymOf(`second factor ${kind}${inSession} ${accountId}`);
  return countAttempt(ctx, [{ key, rule: SECOND_FACTORS[kind], condition: sql`true` }]);
}

/** Counts an attempt on every counter that applies, or on none if one of them is blocked. */
async function countAttempt(ctx: Deps, candidates: Candidate[]): Promise<AttemptCounters> {
  if (ctx.config.RATE_LIMITS === "off") return [];
  const failures = new Map((await countFailures(ctx, candidates)).map((row) => [row.key, row.failures]));
  const counted: AttemptCounters = [];
  let blocked: Counter | undefined;
  for (const counter of candidates) {
    const count = failures.get(counter.key);
    if (count) counted.push({ ...counter, failures: count });
    else if (count === null) blocked ??= counter;
  }
  if (!blocked) return counted;
  await refundAttempt(ctx, counted);
  throw await blockedError(ctx, blocked);
}

/**
 * Counts one failure on each counter that applies, unless it is blocked. A row whose times are further ahead than its
 * rule and `MAX_CLOCK_DIFFERENCE_MS` allow was written by a wrong clock, and counts as expired. Returns the counters that
 * apply with their failures; null while blocked. The rows are locked in the order of `candidates`.
 */
async function countFailures({ db, now }: Deps, candidates: Candidate[]) {
  const at = now();
  const applying = candidates.map(
    ({ key, condition }, i) => sql`SELECT ${i}::integer AS "index", ${key} AS "key" WHERE ${condition}`,
  );
  const ofRule = (value: (rule: Rule) => Prisma.Sql) =>
    sql`CASE throttle."key" ${join(
      candidates.map(({ key, rule }) => sql`WHEN ${key} THEN ${value(rule)}`),
      " ",
    )} END`;
  const freeFailures = ofRule((rule) => sql`${rule.freeFailures}::integer`);
  const latest = (rule: Rule) => later(at, rule.maxWaitMinutes * MINUTE_MS + MAX_CLOCK_DIFFERENCE_MS);
  const latestBlock = ofRule((rule) => sql`${latest(rule)}::timestamptz`);
  const latestExpiry = ofRule((rule) => sql`${later(latest(rule), FAILURE_TTL_MS)}::timestamptz`);
  return db.$queryRaw<{ key: string; failures: number | null }[]>`
    WITH counter AS MATERIALIZED (${join(applying, " UNION ALL ")}), counted AS (
      INSERT INTO "SignInThrottle" AS throttle ("key", "failures", "blockedUntil", "expiresAt")
      SELECT "key", 1, ${at}::timestamptz, ${later(at, FAILURE_TTL_MS)}::timestamptz FROM counter ORDER BY "index"
      ON CONFLICT ("key") DO UPDATE SET
        ("failures", "blockedUntil", "expiresAt") = (SELECT
          CASE WHEN isExpired THEN 1 ELSE throttle."failures" + 1 END,
          CASE WHEN isExpired OR throttle."failures" + 1 < ${freeFailures} THEN EXCLUDED."blockedUntil"
            ELSE ${later(at, LEASE_MS)}::timestamptz END,
          EXCLUDED."expiresAt"
          FROM (SELECT throttle."expiresAt" <= EXCLUDED."blockedUntil" OR throttle."expiresAt" > ${latestExpiry}
            OR throttle."blockedUntil" > ${latestBlock} AS isExpired) AS age)
      WHERE throttle."blockedUntil" <= EXCLUDED."blockedUntil" OR throttle."blockedUntil" > ${latestBlock}
        OR throttle."failures" < ${freeFailures} -- concurrent free attempts do not block each other
      RETURNING "key", "failures"
    )
    SELECT "key", "failures" FROM counter LEFT JOIN counted USING ("key")`;
}

async function blockedError({ db, now }: Deps, { key, rule }: Counter) {
  const row = await db.signInThrottle.findUnique({ where: { key } });
  const policy = { name: rule.name, points: rule.freeFailures, seconds: FAILURE_TTL_MS / 1000 };
  return rateLimited(policy, (row?.blockedUntil.getTime() ?? 0) - now().getTime(), rule.advice);
}

/** Whether the next attempt has to wait if this one fails. It does not depend on whether the email has an account. */
export function shouldWait(attempt: AttemptCounters): boolean {
  return attempt.some(({ rule, failures }) => waitMs(failures, rule) > 0);
}

/** Records that an attempt failed, and starts its wait, if any. */
export async function recordFailure(tx: Tx, at: Date, attempt: AttemptCounters): Promise<void> {
  for (const { key, rule, failures } of attempt) {
    const wait = waitMs(failures, rule);
    await tx.$executeRaw`
      UPDATE "SignInThrottle" SET
        "blockedUntil" = GREATEST("blockedUntil", ${later(at, wait)}::timestamptz),
        "expiresAt" = GREATEST("expiresAt", ${later(at, wait + FAILURE_TTL_MS)}::timestamptz)
      WHERE "key" = ${key}`;
  }
}

export async function clearAttempt(tx: Tx, attempt: AttemptCounters): Promise<void> {
  const keys = attempt.map(({ key }) => key);
  await clearKeys(tx, keys);
}

/** Clears every counter that blocks an owner who has proved to own the mailbox. */
export async function clearFailures(
  tx: Tx,
  ctx: Pick<Context, "limits">,
  account: { id: string; email: string },
  caller: Caller,
) {
  const { device, network } = await clientKeys(ctx, account.email, caller);
  const others = await Promise.all([account.email, `reauthentication ${account.id}`].map(ctx.limits.pseudonymOf));
  await clearKeys(tx, [device, network, ...others]);
}

async function clearKeys(tx: Tx, keys: string[]): Promise<void> {
  if (keys.length > 0) await tx.$executeRaw(deleteCounters(keys, sql`true`));
}

/** Deletes counters. Locks them in the order in which `recordFailure` does, so that the two cannot deadlock. */
export function deleteCounters(keys: string[], condition: Prisma.Sql): Prisma.Sql {
  if (keys.length === 1) return sql`DELETE FROM "SignInThrottle" WHERE "key" = ${keys[0]} AND ${condition}`;
  return sql`
    DELETE FROM "SignInThrottle" WHERE "key" IN (
      SELECT "key" FROM "SignInThrottle" WHERE "key" = ANY(${keys}::text[]) AND ${condition}
      ORDER BY array_position(${keys}::text[], "key") FOR UPDATE)`;
}

/** Refunds an attempt whose password was not checked. */
export async function refundAttempt({ db, now }: Pick<Deps, "db" | "now">, attempt: AttemptCounters): Promise<void> {
  for (const { key, rule, failures } of attempt) {
    const unblock = failures < rule.freeFailures ? {} : { blockedUntil: now() };
    await db.signInThrottle.updateMany({ where: { key }, data: { failures: { decrement: 1 }, ...unblock } });
  }
}

function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}
