import type { Context, Tx } from "../../context";
import { rateLimited } from "../../errors";

type Deps = Pick<Context, "config" | "db" | "limits" | "now">;

const MINUTE_MS = 60 * 1000;
/** So many failures within the window cost no wait. */
const FREE_FAILURES = 10;
const WINDOW_MS = 15 * MINUTE_MS;
const LONGEST_WAIT_MINUTES = 60;
/** How long failures are remembered once one cost a wait; else the free ones would be there again after it. */
const MEMORY_MS = 24 * 60 * MINUTE_MS;
/** How long an attempt is given to end before the next is let in, where there is a wait at all. */
const LEASE_MS = MINUTE_MS;
/** What a refusal calls it. */
const POLICY = { name: "loginByEmail", points: FREE_FAILURES, seconds: WINDOW_MS / 1000 };

/** One attempt that was let in. `failures` counts it as one. */
export type Attempt = { key: string; failures: number };

/** How long the next attempt has to wait after so many failures: not at all below 10, then 1 minute to an hour. */
export function waitMs(failures: number): number {
  if (failures < FREE_FAILURES) return 0;
  return Math.min(LONGEST_WAIT_MINUTES, 2 ** (failures - FREE_FAILURES)) * MINUTE_MS;
}

/**
 * Lets an attempt in, and counts it as failed until it is known to be right: many at once are no way around. Known
 * and unknown addresses are counted alike. Times beyond what a wait or the memory can last were written by a clock that
 * was ahead, and count as over. @throws AppError rate_limited
 */
export async function beginAttempt({ config, db, limits, now }: Deps, email: string): Promise<Attempt> {
  const key = limits.privateKey(email);
  if (config.RATE_LIMITS === "off") return { key, failures: 0 };
  const at = now();
  const [lastWait, lastExpiry] = [later(at, LONGEST_WAIT_MINUTES * MINUTE_MS), later(at, MEMORY_MS)];
  const [counted] = await db.$queryRaw<{ failures: number }[]>`
    INSERT INTO "SignInThrottle" AS throttle ("key", "failures", "heldUntil", "expiresAt")
    VALUES (${key}, 1, ${at}::timestamptz, ${later(at, WINDOW_MS)}::timestamptz)
    ON CONFLICT ("key") DO UPDATE SET
      ("failures", "heldUntil", "expiresAt") = (SELECT
        CASE WHEN isOver THEN 1 ELSE throttle."failures" + 1 END,
        CASE WHEN isOver OR throttle."failures" + 1 < ${FREE_FAILURES}::integer THEN EXCLUDED."heldUntil"
          ELSE ${later(at, LEASE_MS)}::timestamptz END,
        CASE WHEN isOver THEN EXCLUDED."expiresAt" ELSE throttle."expiresAt" END
        FROM (SELECT throttle."expiresAt" <= EXCLUDED."heldUntil" OR throttle."expiresAt" > ${lastExpiry}::timestamptz
          OR throttle."heldUntil" > ${lastWait}::timestamptz AS isOver) AS memory)
    WHERE throttle."heldUntil" <= EXCLUDED."heldUntil" OR throttle."heldUntil" > ${lastWait}::timestamptz
    RETURNING "failures"`;
  if (counted) return { key, failures: counted.failures };
  const held = await db.signInThrottle.findUnique({ where: { key } });
  throw rateLimited(POLICY, (held?.heldUntil.getTime() ?? 0) - at.getTime());
}

/**
 * The attempt was wrong: the wait begins, if there is one. Writes whether there is or not, so that it takes an
 * unknown address as long as a known one, of whose failure an event is kept.
 */
export async function failAttempt(tx: Tx, at: Date, { key, failures }: Attempt): Promise<void> {
  const wait = waitMs(failures);
  await tx.$executeRaw`
    UPDATE "SignInThrottle" SET
      "heldUntil" = GREATEST("heldUntil", ${later(at, wait)}::timestamptz),
      "expiresAt" = GREATEST("expiresAt", ${later(at, wait > 0 ? MEMORY_MS : 0)}::timestamptz)
    WHERE "key" = ${key}`;
}

/** Its owner has proved who they are, by a right password or the mailbox: all failures before are forgotten. */
export async function forgetAttempts(tx: Tx, { limits }: Pick<Deps, "limits">, email: string): Promise<void> {
  await tx.signInThrottle.deleteMany({ where: { key: limits.privateKey(email) } });
}

/** Nobody looked at the password: the attempt does not count. */
export async function withdrawAttempt({ db, now }: Deps, { key, failures }: Attempt): Promise<void> {
  const held = failures < FREE_FAILURES ? {} : { heldUntil: now() };
  await db.signInThrottle.updateMany({ where: { key }, data: { failures: { decrement: 1 }, ...held } });
}

function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}
