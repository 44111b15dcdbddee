import type { Caller } from "../../audit/caller";
import type { Context, Tx } from "../../context";
import { rateLimited } from "../../errors";
import { clientKeys, type RecognizedClient } from "./recognized-clients";

type Deps = Pick<Context, "config" | "db" | "limits" | "now">;

const MINUTE_MS = 60 * 1000;
/** How long failures are kept after the last one and its wait. */
const FAILURE_TTL_MS = 24 * 60 * MINUTE_MS;
/** How long an attempt blocks the next one, if failures have to wait at all. */
const LEASE_MS = MINUTE_MS;

/** `freeFailures` need no wait. Each further one doubles the wait, from one minute to `maxWaitMinutes`. */
type Rule = { name: string; freeFailures: number; maxWaitMinutes: number };
/** For one device or network. */
const BY_CLIENT: Rule = { name: "loginByClient", freeFailures: 10, maxWaitMinutes: 60 };
/** For all clients together that the account does not recognize. */
const BY_STRANGERS: Rule = { name: "loginByEmail", freeFailures: 30, maxWaitMinutes: 24 * 60 };
const BY_SESSIONS: Rule = { ...BY_CLIENT, name: "reauthenticationByAccount" };

type Counter = { key: string; rule: Rule };
/** An attempt and its counters. `failures` includes the attempt itself. */
export type Attempt = (Counter & { failures: number })[];

/** How long the next attempt has to wait after a number of failures. */
export function waitMs(failures: number, { freeFailures, maxWaitMinutes }: Omit<Rule, "name">): number {
  if (failures < freeFailures) return 0;
  return Math.min(maxWaitMinutes, 2 ** (failures - freeFailures)) * MINUTE_MS;
}

/**
 * Starts a sign-in attempt, and counts it as a failure until it succeeds, so that concurrent guesses count too. Known and
 * unknown emails are counted alike. Clients that the account recognizes have their own counters, so that strangers cannot
 * lock the owner out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). @throws AppError rate_limited
 */
export function beginAttempt(
  ctx: Deps,
  email: string,
  caller: Caller,
  recognized: RecognizedClient | null,
): Promise<Attempt> {
  return countAttempt(ctx, countersOf(ctx, email, caller, recognized));
}

function countersOf(ctx: Deps, email: string, caller: Caller, recognized: RecognizedClient | null): Counter[] {
  const strangers = { key: ctx.limits.privateKey(email), rule: BY_STRANGERS };
  if (recognized !== null) return [{ key: recognized.key, rule: BY_CLIENT }];
  return [{ key: clientKeys(ctx, email, caller).network, rule: BY_CLIENT }, strangers];
}

/** The same for a signed-in caller who enters the password again. @throws AppError rate_limited */
export function beginReauthentication(ctx: Deps, accountId: string): Promise<Attempt> {
  return countAttempt(ctx, [{ key: ctx.limits.privateKey(`reauthentication ${accountId}`), rule: BY_SESSIONS }]);
}

/** Counts an attempt on every counter, or on none if one of them is blocked. */
async function countAttempt(ctx: Deps, counters: Counter[]): Promise<Attempt> {
  const counted: Attempt = [];
  if (ctx.config.RATE_LIMITS === "off") return counters.map((counter) => ({ ...counter, failures: 0 }));
  for (const counter of counters) {
    const failures = await countFailure(ctx, counter);
    if (failures === null) {
      await withdrawAttempt(ctx, counted);
      throw await blockedError(ctx, counter);
    }
    counted.push({ ...counter, failures });
  }
  return counted;
}

/**
 * Counts one failure, unless the counter is blocked. A row whose times are further ahead than its rule allows was written
 * by a wrong clock, and counts as expired. Returns the number of failures; null while blocked.
 */
async function countFailure({ db, now }: Deps, { key, rule }: Counter): Promise<number | null> {
  const at = now();
  const latestBlock = later(at, rule.maxWaitMinutes * MINUTE_MS);
  const [counted] = await db.$queryRaw<{ failures: number }[]>`
    INSERT INTO "SignInThrottle" AS throttle ("key", "failures", "blockedUntil", "expiresAt")
    VALUES (${key}, 1, ${at}::timestamptz, ${later(at, FAILURE_TTL_MS)}::timestamptz)
    ON CONFLICT ("key") DO UPDATE SET
      ("failures", "blockedUntil", "expiresAt") = (SELECT
        CASE WHEN isExpired THEN 1 ELSE throttle."failures" + 1 END,
        CASE WHEN isExpired OR throttle."failures" + 1 < ${rule.freeFailures}::integer THEN EXCLUDED."blockedUntil"
          ELSE ${later(at, LEASE_MS)}::timestamptz END,
        EXCLUDED."expiresAt"
        FROM (SELECT throttle."expiresAt" <= EXCLUDED."blockedUntil"
          OR throttle."expiresAt" > ${later(latestBlock, FAILURE_TTL_MS)}::timestamptz
          OR throttle."blockedUntil" > ${latestBlock}::timestamptz AS isExpired) AS age)
    WHERE throttle."blockedUntil" <= EXCLUDED."blockedUntil" OR throttle."blockedUntil" > ${latestBlock}::timestamptz
      OR throttle."failures" < ${rule.freeFailures}::integer -- concurrent free attempts do not block each other
    RETURNING "failures"`;
  return counted?.failures ?? null;
}

async function blockedError({ db, now }: Deps, { key, rule }: Counter) {
  const row = await db.signInThrottle.findUnique({ where: { key } });
  const policy = { name: rule.name, points: rule.freeFailures, seconds: FAILURE_TTL_MS / 1000 };
  const detail = "Too many wrong passwords. Reset the password to sign in now.";
  return rateLimited(policy, (row?.blockedUntil.getTime() ?? 0) - now().getTime(), detail);
}

/**
 * Records that an attempt failed, and starts its wait, if any. It writes in either case, so that known and unknown emails
 * take the same time.
 */
export async function recordFailure(tx: Tx, at: Date, attempt: Attempt): Promise<void> {
  for (const { key, rule, failures } of attempt) {
    const wait = waitMs(failures, rule);
    await tx.$executeRaw`
      UPDATE "SignInThrottle" SET
        "blockedUntil" = GREATEST("blockedUntil", ${later(at, wait)}::timestamptz),
        "expiresAt" = GREATEST("expiresAt", ${later(at, wait + FAILURE_TTL_MS)}::timestamptz)
      WHERE "key" = ${key}`;
  }
}

/** Clears the counters of an attempt that succeeded. */
export async function clearAttempt(tx: Tx, attempt: Attempt): Promise<void> {
  await clearKeys(
    tx,
    attempt.map(({ key }) => key),
  );
}

/** Clears every counter that blocks an owner who has proved to own the mailbox. */
export async function clearFailures(
  tx: Tx,
  ctx: Pick<Deps, "limits">,
  account: { id: string; email: string },
  caller: Caller,
): Promise<void> {
  const { device, network } = clientKeys(ctx, account.email, caller);
  const others = [account.email, `reauthentication ${account.id}`].map(ctx.limits.privateKey);
  await clearKeys(tx, [device, network, ...others]);
}

/** Deletes one by one, in the order in which `recordFailure` locks the rows, so that the two cannot deadlock. */
async function clearKeys(tx: Tx, keys: string[]): Promise<void> {
  for (const key of keys) await tx.signInThrottle.deleteMany({ where: { key } });
}

/** Takes an attempt back whose password was not checked. */
export async function withdrawAttempt({ db, now }: Pick<Deps, "db" | "now">, attempt: Attempt): Promise<void> {
  for (const { key, rule, failures } of attempt) {
    const unblock = failures < rule.freeFailures ? {} : { blockedUntil: now() };
    await db.signInThrottle.updateMany({ where: { key }, data: { failures: { decrement: 1 }, ...unblock } });
  }
}

function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}
