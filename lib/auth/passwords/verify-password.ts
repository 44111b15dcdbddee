import type { Context } from "../../context";
import { AppError, isAppError } from "../../errors";
import { recordFailedSignIn, recordSecurityEvent } from "../../platform/audit/security-events";
import type { Account } from "../../platform/db/generated/client";
import type { Caller } from "../../principal";
import { requireEnabled } from "../account-checks";
import { requireVerifiedEmail } from "../email-verification";
import type { NewHash } from "../sessions/issue-session";
import {
  type AttemptCounters,
  beginAttempt,
  beginAttemptByDevice,
  beginReauthentication,
  clearAttempt,
  recordFailure,
  refundAttempt,
  shouldWait,
} from "../sign-in-throttle";
import { dummyHashFor } from "./dummy-hash";
import { hashPassword, isOutdated, isPasswordCorrect } from "./password-hash";
import { normalizePassword } from "./policy";

type Deps = Pick<Context, "config" | "db" | "emails" | "hasher" | "limits" | "now">;

/** An account whose password was checked, and the attempt that `issueSession` clears. */
export type VerifiedAccount = Account & { attempt: AttemptCounters; newHash: NewHash | null };
type EmailAndPassword = { email: string; password: string };

/**
 * The password check of /login and next-auth. It counts an attempt before it looks the account up, and costs the same
 * for known and unknown emails. An attempt is not counted if the password could not be checked, because the service was
 * busy or the database was down. A device that the account recognizes is not subject to the limit of its IP.
 * @throws AppError invalid_credentials, account_disabled, email_not_verified, rate_limited, overloaded
 */
export async function verifyPassword(ctx: Deps, given: EmailAndPassword, caller: Caller): Promise<VerifiedAccount> {
  const byDevice = await beginAttemptByDevice(ctx, given.email, caller);
  if (!byDevice) await ctx.limits.consume("loginByIp", caller.ip);
  const refund = async () => byDevice !== null || ctx.limits.refund("loginByIp", caller.ip);
  const attempt = byDevice ?? (await beginAttempt(ctx, given.email, caller));
  const { account, isCorrect, newHash } = await comparePassword(ctx, given).catch(async (error: unknown) => {
    await Promise.allSettled([refundAttempt(ctx, attempt), refund()]);
    throw error;
  });
  if (!account || !isCorrect) {
    await recordFailedAttempt(ctx, given.email, attempt, caller);
    throw new AppError("invalid_credentials");
  }
  await refund();
  try {
    requireEnabled(account);
    await requireVerifiedEmail(ctx, account, caller);
  } catch (error) {
    await clearAttempt(ctx.db, attempt);
    throw error;
  }
  return { ...account, attempt, newHash };
}

/** Known and unknown emails run the same statements. */
async function recordFailedAttempt(ctx: Deps, email: string, attempt: AttemptCounters, caller: Caller) {
  const at = ctx.now();
  if (!shouldWait(attempt)) return recordFailedSignIn(ctx.db, at, email, caller);
  await ctx.db.$transaction(async (tx) => {
    await recordFailure(tx, at, attempt);
    await recordFailedSignIn(tx, at, email, caller);
  });
}

async function comparePassword(ctx: Deps, { email, password }: EmailAndPassword) {
  const account = await ctx.db.account.findUnique({ where: { email } });
  const outdated = account?.passwordHash ?? null;
  const isCorrect = await isPasswordCorrect(ctx, password, outdated, await dummyHashFor(ctx, email));
  const newHash =
    isCorrect && outdated !== null && isOutdated(ctx, outdated) ? await rehash(ctx, outdated, password) : null;
  return { account, isCorrect, newHash };
}

/**
 * Hashes a password at the configured cost, for `issueSession` to store. Skipped while other tasks wait for the hasher, so
 * that a sign-in never waits for it twice.
 */
async function rehash(ctx: Deps, outdated: string, password: string): Promise<NewHash | null> {
  if (ctx.hasher.isBusy()) return null;
  try {
    return { outdated, passwordHash: await hashPassword(ctx, normalizePassword(password)) };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return null;
  }
}

/**
 * Checks the password of a signed-in caller. Wrong passwords are throttled as in a sign-in, and recorded in the audit
 * trail. @throws AppError reauthentication_required with the field, rate_limited, overloaded
 */
export async function confirmPassword(
  ctx: Omit<Deps, "emails">,
  { id, passwordHash }: { id: string; passwordHash: string },
  password: string,
  caller: Caller,
): Promise<void> {
  const attempt = await beginReauthentication(ctx, id);
  const isCorrect = await isPasswordCorrect(ctx, password, passwordHash).catch(async (error: unknown) => {
    await refundAttempt(ctx, attempt);
    throw error;
  });
  if (isCorrect) return clearAttempt(ctx.db, attempt);
  await ctx.db.$transaction(async (tx) => {
    await recordFailure(tx, ctx.now(), attempt);
    await recordSecurityEvent(tx, ctx.now(), id, "sign_in_failed", caller);
  });
  const errors = [{ pointer: "/password", code: "incorrect", detail: "This is not your password" }];
  throw new AppError("reauthentication_required", { errors });
}
