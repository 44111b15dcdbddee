import type { Caller } from "../audit/caller";
import { recordFailedSignIn, recordSecurityEvent } from "../audit/security-events";
import type { Context } from "../context";
import type { Account } from "../db/generated/client";
import { AppError, isAppError } from "../errors";
import { enqueue } from "../push/outbox";
import { findRecognizedClient, recognizeClient } from "./limits/recognized-clients";
import { beginAttempt, clearAttempt, recordFailure, withdrawAttempt } from "./limits/sign-in-throttle";
import { hashPassword, isOutdated, passwordMatches } from "./passwords/password-hash";
import { normalizePassword } from "./passwords/policy";
import { clientName } from "./sessions/client-name";
import { createSession, sessionToken, type Transport } from "./sessions/sessions";
import { requireVerifiedEmail } from "./verification/email-verification";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "emails" | "now">;
type Credentials = { email: string; password: string };

/**
 * The one password check, behind /login and next-auth alike, so that both share its counters. Counts before it
 * looks the account up, and costs the same whether the address is known or not. Where nobody could look at the
 * password, because the service was too busy or the database gone, nothing is counted. What others behind the same
 * client address get wrong does not hold a device that the account recognizes.
 * @throws AppError invalid_credentials, email_not_verified, rate_limited, overloaded
 */
export async function verifyPassword(ctx: Deps, given: Credentials, caller: Caller): Promise<Account> {
  const recognized = await findRecognizedClient(ctx, given.email, caller);
  const isOwnDevice = recognized?.isDevice === true;
  if (!isOwnDevice) await ctx.limits.consume("loginByAddress", caller.ip);
  const giveBack = async () => isOwnDevice || ctx.limits.giveBack("loginByAddress", caller.ip);
  const attempt = await beginAttempt(ctx, given.email, caller, recognized);
  const { account, isRight } = await comparePassword(ctx, given).catch(async (error: unknown) => {
    await Promise.allSettled([withdrawAttempt(ctx, attempt), giveBack()]);
    throw error;
  });
  if (!account || !isRight) {
    await ctx.db.$transaction(async (tx) => {
      await recordFailure(tx, ctx.now(), attempt);
      await recordFailedSignIn(tx, ctx.now(), given.email, caller);
    });
    throw new AppError("invalid_credentials");
  }
  await clearAttempt(ctx.db, attempt);
  await giveBack();
  await requireVerifiedEmail(ctx, account, caller);
  return account;
}

async function comparePassword(ctx: Deps, { email, password }: Credentials) {
  const account = await ctx.db.account.findUnique({ where: { email } });
  const isRight = await passwordMatches(ctx, password, account?.passwordHash ?? null);
  if (account?.passwordHash && isRight && isOutdated(ctx, account.passwordHash)) {
    await renewHash(ctx, account.id, account.passwordHash, password);
  }
  return { account, isRight };
}

/**
 * Hashes a password anew at today's cost, unless it was changed meanwhile. Next time will do where others wait: nobody
 * stands in that queue twice for one sign-in.
 */
async function renewHash(ctx: Deps, id: string, outdated: string, password: string): Promise<void> {
  if (ctx.hasher.isBusy()) return;
  try {
    const passwordHash = await hashPassword(ctx, normalizePassword(password));
    await ctx.db.account.updateMany({ where: { id, passwordHash: outdated }, data: { passwordHash } });
  } catch (error) {
    if (!isAppError(error)) throw error;
  }
}

/**
 * Signs an account in, as it was when it proved itself, and tells the devices that it has already. Returns the
 * session's row, the claims of its token, and the token.
 * @throws AppError invalid_credentials where its password was reset, or it was deleted, since
 */
export async function issueSession(
  ctx: Pick<Context, "config" | "db" | "dbNow" | "limits" | "now">,
  account: { id: string; email: string; sessionEpoch: number },
  how: { transport: Transport; deviceName: string | null },
  caller: Caller,
) {
  const now = ctx.now();
  const { session, claims } = await ctx.db.$transaction(async (tx) => {
    const [held] = await tx.$queryRaw<{ unverifiedExpiresAt: Date | null }[]>`
      SELECT "unverifiedExpiresAt" FROM "Account"
      WHERE "id" = ${account.id}::uuid AND "sessionEpoch" = ${account.sessionEpoch}::integer FOR NO KEY UPDATE`;
    if (!held) throw new AppError("invalid_credentials");
    if (held.unverifiedExpiresAt) {
      await tx.account.update({ where: { id: account.id }, data: { unverifiedExpiresAt: null } });
    }
    const opened = await createSession(tx, now, account, { ...how, client: caller.client });
    await recordSecurityEvent(tx, now, account.id, "signed_in", caller);
    await recognizeClient(tx, ctx, account, caller, { withDevice: how.transport === "cookie" });
    const client = clientName(how.deviceName, caller.client);
    const message = { kind: "security.new_sign_in", eventId: opened.session.id, client } as const;
    await enqueue(tx, ctx.dbNow(), {
      eventKey: `sign-in:${opened.session.id}`,
      to: { accountId: account.id },
      message,
    });
    return opened;
  });
  return { session, claims, token: await sessionToken(ctx, claims) };
}
