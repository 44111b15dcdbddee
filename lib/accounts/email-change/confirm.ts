import { revokePasswordLinks } from "../../auth/emailed-token";
import { recognizeClient } from "../../auth/recognized-clients";
import { cancelEmailChanges, reservedEmailCondition } from "../../auth/reserved-emails";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { isUniqueViolation } from "../../platform/database-errors";
import type { EmailChange } from "../../platform/db/generated/client";
import type { Caller, Principal } from "../../principal";
import { toUser } from "../schema";
import { findUnconfirmedChange, lockEmail } from "./request";
import { UNDO_TTL_DAYS } from "./tokens";

type Deps = Pick<Context, "config" | "db" | "limits" | "emails" | "now">;

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Changes the caller's email to the one that an emailed token proves. The session must be the account's: a person who
 * follows a stranger's link by mistake must not give that stranger's account their email. Revokes the links sent to the
 * old email, except the one that undoes the change.
 * @throws AppError invalid_or_expired_token if the token is invalid, used or expired; email_taken if another account
 *   has the email by now; rate_limited
 */
export async function confirmEmailChange(ctx: Deps, principal: Principal, token: string, caller: Caller) {
  const accountId = principal.account.id;
  const change = await requireEmailChange(ctx, token, caller, accountId);
  const confirm = ctx.db.$transaction(async (tx) => {
    await changeEmail(ctx, tx, change);
    const account = { id: accountId, email: change.newEmail };
    await recognizeClient(tx, ctx, account, caller, { hasDeviceCookie: principal.session.via === "cookie" });
    await recordSecurityEvent(tx, ctx.now(), accountId, "email_changed", caller);
    const changed = await tx.account.findUniqueOrThrow({ where: { id: accountId } });
    await ctx.emails.enqueue(tx, "email_changed", change.newEmail);
    if (change.undoTokenHash) {
      await ctx.emails.enqueue(tx, "email_change_notice", change.oldEmail, null, changed.locale);
    }
    return changed;
  });
  const account = await confirm.catch((error: unknown) => {
    throw isUniqueViolation(error) ? new AppError("email_taken") : error;
  });
  ctx.emails.wake();
  return toUser(account);
}

/**
 * The change that a token confirms, of this account or of any.
 * @throws AppError invalid_or_expired_token, rate_limited
 */
export async function requireEmailChange(
  ctx: Pick<Deps, "db" | "limits" | "now">,
  token: string,
  caller: Caller,
  accountId?: string,
) {
  const change = await findUnconfirmedChange(ctx, token);
  if (change && (accountId === undefined || change.accountId === accountId)) return change;
  await ctx.limits.consume("emailChangeByIp", caller.ip);
  throw new AppError("invalid_or_expired_token");
}

/** Locks the account before its tokens, in the order of account deletion. */
async function changeEmail(ctx: Pick<Deps, "now">, tx: Tx, change: EmailChange): Promise<void> {
  const { id, accountId, newEmail, oldEmail, undoTokenHash } = change;
  const now = ctx.now();
  await lockEmail(tx, accountId);
  const { count } = await tx.emailChange.updateMany({
    where: { id, confirmedAt: null, confirmExpiresAt: { gt: now } },
    data: { confirmedAt: now, expiresAt: undoTokenHash ? new Date(now.getTime() + UNDO_TTL_DAYS * DAY_MS) : now },
  });
  if (count !== 1) throw new AppError("invalid_or_expired_token"); // rolls back
  const updated = await tx.$executeRaw`
    UPDATE "Account" SET "email" = ${newEmail}, "emailVerifiedAt" = ${now}::timestamptz, "emailProblem" = NULL,
      "emailProblemAt" = NULL, "unverifiedExpiresAt" = NULL,
      "updatedAt" = ${now}::timestamptz
    WHERE "id" = ${accountId}::uuid AND "email" = ${oldEmail} AND NOT ${reservedEmailCondition(newEmail, now, accountId)}`;
  if (updated !== 1) throw new AppError("email_taken");
  await cancelEmailChanges(tx, now, accountId);
  await revokePasswordLinks(tx, accountId);
  await tx.verificationToken.deleteMany({ where: { accountId } });
}
