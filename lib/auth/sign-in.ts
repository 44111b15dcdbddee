import type { Caller } from "../audit/caller";
import { recordFailedSignIn, recordSecurityEvent } from "../audit/security-events";
import type { Context } from "../context";
import type { Account } from "../db/generated/client";
import { AppError, isAppError } from "../errors";
import { enqueue } from "../push/outbox/enqueue";
import { findRecognizedClient, recognizeClient } from "./limits/recognized-clients";
import { beginAttempt, clearAttempt, recordFailure, withdrawAttempt } from "./limits/sign-in-throttle";
import { hashPassword, isOutdated, passwordMatches } from "./passwords/password-hash";
import { normalizePassword } from "./passwords/policy";
import { clientName } from "./sessions/client-name";
import { createSession, sessionToken, type Transport } from "./sessions/sessions";
import { requireVerifiedEmail } from "./verification/email-verification";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "emails" | "now">;
type EmailAndPassword = { email: string; password: string };

/**
 * The password check of /login and next-auth. It counts an attempt before it looks the account up, and costs the same
 * for known and unknown emails. An attempt is not counted if the password could not be checked, because the service was
 * busy or the database was down. A device that the account recognizes is not subject to the limit of its IP.
 * @throws AppError invalid_credentials, email_not_verified, rate_limited, overloaded
 */
export async function verifyPassword(ctx: Deps, given: EmailAndPassword, caller: Caller): Promise<Account> {
  const recognized = await findRecognizedClient(ctx, given.email, caller);
  const isOwnDevice = recognized?.isDevice === true;
  if (!isOwnDevice) await ctx.limits.consume("loginByIp", caller.ip);
  const refund = async () => isOwnDevice || ctx.limits.refund("loginByIp", caller.ip);
  const attempt = await beginAttempt(ctx, given.email, caller, recognized);
  const { account, isCorrect } = await comparePassword(ctx, given).catch(async (error: unknown) => {
    await Promise.allSettled([withdrawAttempt(ctx, attempt), refund()]);
    throw error;
  });
  if (!account || !isCorrect) {
    await ctx.db.$transaction(async (tx) => {
      await recordFailure(tx, ctx.now(), attempt);
      await recordFailedSignIn(tx, ctx.now(), given.email, caller);
    });
    throw new AppError("invalid_credentials");
  }
  await clearAttempt(ctx.db, attempt);
  await refund();
  await requireVerifiedEmail(ctx, account, caller);
  return account;
}

async function comparePassword(ctx: Deps, { email, password }: EmailAndPassword) {
  const account = await ctx.db.account.findUnique({ where: { email } });
  const isCorrect = await passwordMatches(ctx, password, account?.passwordHash ?? null);
  if (account?.passwordHash && isCorrect && isOutdated(ctx, account.passwordHash)) {
    await rehashPassword(ctx, account.id, account.passwordHash, password);
  }
  return { account, isCorrect };
}

/**
 * Rehashes a password at the configured cost, unless it was changed meanwhile. Skipped while other tasks wait for the
 * hasher, so that a sign-in never waits for it twice.
 */
async function rehashPassword(ctx: Deps, id: string, outdated: string, password: string): Promise<void> {
  if (ctx.hasher.isBusy()) return;
  try {
    const passwordHash = await hashPassword(ctx, normalizePassword(password));
    await ctx.db.account.updateMany({ where: { id, passwordHash: outdated }, data: { passwordHash } });
  } catch (error) {
    if (!isAppError(error)) throw error;
  }
}

/**
 * Creates a session for an account that has been authenticated, and notifies the devices of its other sessions.
 * `account` is the row that was authenticated. Returns the session's row, the claims of its token, and the token.
 * @throws AppError invalid_credentials if the account was deleted, or its password reset, since
 */
export async function issueSession(
  ctx: Pick<Context, "config" | "db" | "dbNow" | "limits" | "now" | "removeDevices">,
  account: { id: string; email: string; sessionEpoch: number },
  { transport, deviceName }: { transport: Transport; deviceName: string | null },
  caller: Caller,
) {
  const now = ctx.now();
  const { session, claims } = await ctx.db.$transaction(async (tx) => {
    const [locked] = await tx.$queryRaw<{ unverifiedExpiresAt: Date | null }[]>`
      SELECT "unverifiedExpiresAt" FROM "Account"
      WHERE "id" = ${account.id}::uuid AND "sessionEpoch" = ${account.sessionEpoch}::integer FOR NO KEY UPDATE`;
    if (!locked) throw new AppError("invalid_credentials");
    if (locked.unverifiedExpiresAt) {
      await tx.account.update({ where: { id: account.id }, data: { unverifiedExpiresAt: null } });
    }
    const created = await createSession(ctx, tx, now, account, { transport, userAgent: caller.userAgent, deviceName });
    await recordSecurityEvent(tx, now, account.id, "signed_in", caller);
    await recognizeClient(tx, ctx, account, caller, { withDevice: transport === "cookie" });
    await enqueue(tx, ctx.dbNow(), {
      eventKey: `sign-in:${created.session.id}`,
      to: { accountId: account.id },
      message: {
        kind: "security.new_sign_in",
        eventId: created.session.id,
        client: clientName(deviceName, caller.userAgent),
      },
    });
    return created;
  });
  return { session, claims, token: await sessionToken(ctx, claims) };
}
