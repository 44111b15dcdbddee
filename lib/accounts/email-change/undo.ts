import { NO_EMAIL_PROBLEM } from "../../auth/email-problem";
import { hashEmailedToken, revokePasswordLinks } from "../../auth/emailed-token";
import { cancelEmailChanges } from "../../auth/reserved-emails";
import { removeTotpAndRecoveryCodesSince } from "../../auth/second-factor/factors";
import { revokeAllSessions } from "../../auth/sessions/sessions";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { isUniqueViolation } from "../../platform/database-errors";
import type { EmailChange } from "../../platform/db/generated/client";
import type { Caller } from "../../principal";
import { type LinkedIdentity, listIdentities } from "../sign-in-methods/identities";
import { lockEmail } from "./request";

type Deps = Pick<Context, "db" | "limits" | "emails" | "now" | "removeDevices">;

/**
 * Undoes a change of email, and every later one, with the token sent to the old email: within 7 days of the
 * confirmation, or before it. Whoever asked for the change has been in the account, so this ends all sessions, revokes
 * all emailed links, removes the password and the factors and providers that were added since, and sends a link to set a
 * new password. Returns the linked providers for the owner to check.
 * @throws AppError invalid_or_expired_token if the token is invalid, used or expired; email_taken if a version of the
 *   service that does not reserve the old email let another account use it; rate_limited
 */
export async function undoEmailChange(ctx: Deps, token: string, caller: Caller): Promise<LinkedIdentity[]> {
  const undoTokenHash = hashEmailedToken(token);
  const where = { undoTokenHash, expiresAt: { gt: ctx.now() } };
  const change = await ctx.db.emailChange.findUnique({ where });
  if (!change) {
    await ctx.limits.consume("emailChangeByIp", caller.ip);
    throw new AppError("invalid_or_expired_token");
  }
  const undo = ctx.db.$transaction(async (tx) => {
    await restore(ctx, tx, change);
    await recordSecurityEvent(tx, ctx.now(), change.accountId, "email_change_undone", caller);
    await ctx.emails.enqueue(tx, "password_reset", change.oldEmail);
  });
  await undo.catch((error: unknown) => {
    throw isUniqueViolation(error) ? new AppError("email_taken") : error;
  });
  ctx.emails.wake();
  return listIdentities(ctx.db, change.accountId);
}

/** Locks the account before everything else, in the order of account deletion. */
async function restore(
  ctx: Pick<Deps, "now" | "removeDevices">,
  tx: Tx,
  { id, accountId, oldEmail, createdAt }: EmailChange,
): Promise<void> {
  const now = ctx.now();
  await lockEmail(tx, accountId);
  const { count } = await tx.emailChange.deleteMany({ where: { id } });
  if (count !== 1) throw new AppError("invalid_or_expired_token"); // used or replaced meanwhile
  await tx.emailChange.deleteMany({ where: { accountId, createdAt: { gte: createdAt } } });
  await cancelEmailChanges(tx, now, accountId); // after the clock was set back, a later one seems earlier
  await revokeAllSessions(ctx, tx, now, accountId);
  await revokePasswordLinks(tx, accountId);
  await tx.verificationToken.deleteMany({ where: { accountId } });
  const isNew = { accountId, createdAt: { gte: createdAt } };
  await tx.identity.deleteMany({ where: isNew });
  await tx.passkey.deleteMany({ where: isNew });
  await removeTotpAndRecoveryCodesSince(tx, accountId, createdAt);
  await tx.account.update({
    where: { id: accountId },
    data: { email: oldEmail, emailVerifiedAt: now, ...NO_EMAIL_PROBLEM, passwordHash: null },
  });
}
