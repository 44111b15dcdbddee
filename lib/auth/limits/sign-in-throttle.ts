import type { Caller } from "../../audit/caller";
import type { Context, Tx } from "../../context";
import { rateLimited } from "../../errors";
import { clientKeys, type RecognizedClient } from "./recognized-clients";

type Deps = Pick<Context, "config" | "db" | "limits" | "now">;

const MINUTE_MS = 60 * 1000;
/** How long failures are remembered after the last of them and its wait. */
const FAILURE_TTL_MS = 24 * 60 * MINUTE_MS;
/** How long an attempt is given to end before the next is let in, where there is a wait at all. */
const LEASE_MS = MINUTE_MS;

/** `freeFailures` cost no wait; each further one costs twice the last, from a minute to `maxWaitMinutes`. */
type Rule = { name: string; freeFailures: number; maxWaitMinutes: number };
/** What one device, network or session may get wrong. */
const BY_CLIENT: Rule = { name: "loginByClient", freeFailures: 10, maxWaitMinutes: 60 };
/** What all clients together may that the account has not signed in from. */
const BY_STRANGERS: Rule = { name: "loginByEmail", freeFailures: 30, maxWaitMinutes: 24 * 60 };
const BY_SESSIONS: Rule = { ...BY_CLIENT, name: "reauthenticationByAccount" };

/** What failures are counted against. */
type Counter = { key: string; rule: Rule };
/** One attempt that was let in. `failures` counts it as one. */
export type Attempt = (Counter & { failures: number })[];

/** How long the next attempt has to wait after so many failures. */
export function waitMs(failures: number, { freeFailures, maxWaitMinutes }: Omit<Rule, "name">): number {
  if (failures < freeFailures) return 0;
  return Math.min(maxWaitMinutes, 2 ** (failures - freeFailures)) * MINUTE_MS;
}

/**
 * Lets a sign-in in, and counts it as failed until it is known to be right: many at once are no way around. Known and
 * unknown addresses are counted alike. A device or network that the account has signed in from has a counter of its own,
 * so that strangers cannot hold its owner (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"); all others
 * together have another one. @throws AppError rate_limited
 */
export async function beginAttempt(
  ctx: Deps,
  email: string,
  caller: Caller,
  recognized: RecognizedClient | null,
): Promise<Attempt> {
  const strangers = { key: ctx.limits.privateKey(email), rule: BY_STRANGERS };
  if (recognized !== null) return countFailures(ctx, [{ key: recognized.key, rule: BY_CLIENT }]);
  return countFailures(ctx, [{ key: clientKeys(ctx, email, caller).network, rule: BY_CLIENT }, strangers]);
}

/** The same for a password that somebody signed in gives again. @throws AppError rate_limited */
export function beginReauthentication(ctx: Deps, accountId: string): Promise<Attempt> {
  return countFailures(ctx, [{ key: ctx.limits.privateKey(`reauthentication ${accountId}`), rule: BY_SESSIONS }]);
}

/** Counts an attempt on each counter, or on none where one of them refuses it. */
async function countFailures(ctx: Deps, counters: Counter[]): Promise<Attempt> {
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
 * Counts one failure. Times beyond what a wait or the memory can last were written by a clock that was ahead, and count
 * as over. Returns how many there are; null while the next has to wait.
 */
async function countFailure({ db, now }: Deps, { key, rule }: Counter): Promise<number | null> {
  const at = now();
  const lastWait = later(at, rule.maxWaitMinutes * MINUTE_MS);
  const [counted] = await db.$queryRaw<{ failures: number }[]>`
    INSERT INTO "SignInThrottle" AS throttle ("key", "failures", "blockedUntil", "expiresAt")
    VALUES (${key}, 1, ${at}::timestamptz, ${later(at, FAILURE_TTL_MS)}::timestamptz)
    ON CONFLICT ("key") DO UPDATE SET
      ("failures", "blockedUntil", "expiresAt") = (SELECT
        CASE WHEN isOver THEN 1 ELSE throttle."failures" + 1 END,
        CASE WHEN isOver OR throttle."failures" + 1 < ${rule.freeFailures}::integer THEN EXCLUDED."blockedUntil"
          ELSE ${later(at, LEASE_MS)}::timestamptz END,
        EXCLUDED."expiresAt"
        FROM (SELECT throttle."expiresAt" <= EXCLUDED."blockedUntil"
          OR throttle."expiresAt" > ${later(lastWait, FAILURE_TTL_MS)}::timestamptz
          OR throttle."blockedUntil" > ${lastWait}::timestamptz AS isOver) AS memory)
    WHERE throttle."blockedUntil" <= EXCLUDED."blockedUntil" OR throttle."blockedUntil" > ${lastWait}::timestamptz
      OR throttle."failures" < ${rule.freeFailures}::integer -- of two at one moment the later is not held by the other
    RETURNING "failures"`;
  return counted?.failures ?? null;
}

async function blockedError({ db, now }: Deps, { key, rule }: Counter) {
  const held = await db.signInThrottle.findUnique({ where: { key } });
  const policy = { name: rule.name, points: rule.freeFailures, seconds: FAILURE_TTL_MS / 1000 };
  const detail = "Too many wrong passwords. A reset of the password lets the owner in at once.";
  return rateLimited(policy, (held?.blockedUntil.getTime() ?? 0) - now().getTime(), detail);
}

/**
 * The attempt was wrong: the wait begins, if there is one. Writes whether there is or not, so that it takes an
 * unknown address as long as a known one, of whose failure an event is kept.
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

/** The password was right: the failures before are forgotten. */
export async function clearAttempt(tx: Tx, attempt: Attempt): Promise<void> {
  await clearKeys(
    tx,
    attempt.map(({ key }) => key),
  );
}

/** The owner has proved the mailbox: whoever is held back, by their own failures or a stranger's, is no more. */
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

/** One by one, in the order in which `failAttempt` locks them: neither waits for what the other has. */
async function clearKeys(tx: Tx, keys: string[]): Promise<void> {
  for (const key of keys) await tx.signInThrottle.deleteMany({ where: { key } });
}

/** Nobody looked at the password: the attempt does not count. */
export async function withdrawAttempt({ db, now }: Pick<Deps, "db" | "now">, attempt: Attempt): Promise<void> {
  for (const { key, rule, failures } of attempt) {
    const held = failures < rule.freeFailures ? {} : { blockedUntil: now() };
    await db.signInThrottle.updateMany({ where: { key }, data: { failures: { decrement: 1 }, ...held } });
  }
}

function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}
