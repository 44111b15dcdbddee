import { lockAccount, lockOwnAccount } from "../../auth/account-checks";
import { consumeEmailLimit } from "../../auth/email-limits";
import { hashEmailedToken } from "../../auth/emailed-token";
import { cancelEmailChanges } from "../../auth/reserved-emails";
import { requireStepUp } from "../../auth/step-up";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { newId } from "../../platform/db/ids";
import type { Caller, Principal } from "../../principal";
import type { PendingEmailChange, RequestEmailChange } from "./schema";
import { CONFIRM_TTL_HOURS, changeTokenHashes, UNDO_TTL_DAYS } from "./tokens";

type ReadDeps = Pick<Deps, "db" | "now">;

type Deps = Parameters<typeof requireStepUp>[0] & Pick<Context, "config" | "db" | "limits" | "emails" | "now">;

const HOUR_MS = 60 * 60 * 1000;

/** An account's change of email that waits for its confirmation; null if there is none. */
export async function findPendingEmailChange({ db, now }: ReadDeps, accountId: string) {
  const change = await db.emailChange.findFirst({
    where: { accountId, confirmedAt: null, confirmExpiresAt: { gt: now() } },
    orderBy: { createdAt: "desc" },
  });
  return change && toPending(change);
}

/** The change that an emailed token confirms; null if it no longer can. */
export function findUnconfirmedChange({ db, now }: ReadDeps, token: string) {
  const where = { confirmTokenHash: hashEmailedToken(token), confirmedAt: null, confirmExpiresAt: { gt: now() } };
  return db.emailChange.findUnique({ where });
}

/** The email with which to sign in for an emailed token, as "j…@example.com": a stranger may have got it. null as above. */
export async function findMaskedEmail(deps: ReadDeps, token: string): Promise<string | null> {
  const change = await findUnconfirmedChange(deps, token);
  return change?.oldEmail.replace(/^(.).*(?=@)/u, "$1…") ?? null;
}

/** The public part of a pending change. */
function toPending(change: { newEmail: string; createdAt: Date; confirmExpiresAt: Date }): PendingEmailChange {
  return { email: change.newEmail, requestedAt: change.createdAt, expiresAt: change.confirmExpiresAt };
}

/** Cancels an account's pending change of email. Does nothing if there is none. */
export async function cancelEmailChange({ db, now }: ReadDeps, accountId: string, caller: Caller): Promise<void> {
  await db.$transaction(async (tx) => {
    await lockEmail(tx, accountId);
    const count = await cancelEmailChanges(tx, now(), accountId);
    if (count > 0) await recordSecurityEvent(tx, now(), accountId, "email_change_canceled", caller);
  });
}

/** Locks an account, so that changes of its email take turns. Returns its email; null if it was deleted. */
export async function lockEmail(tx: Tx, accountId: string) {
  await lockAccount(tx, accountId);
  return tx.account.findUnique({ where: { id: accountId }, select: { email: true, emailVerifiedAt: true } });
}

/**
 * Starts a change of the caller's email after step-up. Sends to the new email a link that confirms it, or, if it has
 * an account, the notice that it has one: the caller cannot tell which. Sends to the old email, if it was verified, a
 * link that undoes the change. Replaces a pending change.
 * @throws AppError validation_failed for the caller's own email; unauthenticated if the session ended meanwhile;
 *   reauthentication_required, rate_limited, overloaded
 */
export async function requestEmailChange(
  ctx: Deps,
  principal: Principal,
  { email: newEmail, ...proof }: RequestEmailChange,
  caller: Caller,
): Promise<PendingEmailChange> {
  const accountId = principal.account.id;
  if (newEmail === principal.account.email) {
    const errors = [{ pointer: "/email", code: "unchanged", detail: "This is already your email" }];
    throw new AppError("validation_failed", { errors });
  }
  await requireStepUp(ctx, principal, proof, caller);
  await ctx.limits.consume("emailChangeByAccount", accountId);
  const shouldEmail = await consumeEmailLimit(ctx, "verification", newEmail, caller.ip);
  const change = await ctx.db.$transaction(async (tx) => {
    await lockOwnAccount(tx, principal);
    const created = await replacePending(ctx, tx, accountId, newEmail);
    const { locale } = await tx.account.findUniqueOrThrow({ where: { id: accountId }, select: { locale: true } });
    await recordSecurityEvent(tx, created.createdAt, accountId, "email_change_requested", caller);
    if (shouldEmail) await ctx.emails.enqueue(tx, "email_change_confirm", newEmail, { changeId: created.id }, locale);
    if (created.undoTokenHash) await ctx.emails.enqueue(tx, "email_change_notice", created.oldEmail);
    return created;
  });
  ctx.emails.wake();
  return toPending(change);
}

/** An email that was never verified may be somebody else's, who must not get the account: nobody can undo its change. */
async function replacePending(
  { config, now }: Pick<Deps, "config" | "now">,
  tx: Tx,
  accountId: string,
  newEmail: string,
) {
  const where = { id: accountId };
  const account = await tx.account.findUniqueOrThrow({ where, select: { email: true, emailVerifiedAt: true } });
  const createdAt = now();
  await cancelEmailChanges(tx, createdAt, accountId);
  const id = newId();
  const { confirmTokenHash, undoTokenHash } = changeTokenHashes(config, id);
  return tx.emailChange.create({
    data: {
      id,
      accountId,
      oldEmail: account.email,
      newEmail,
      confirmTokenHash,
      undoTokenHash: account.emailVerifiedAt ? undoTokenHash : null,
      createdAt,
      confirmExpiresAt: new Date(createdAt.getTime() + CONFIRM_TTL_HOURS * HOUR_MS),
      expiresAt: new Date(createdAt.getTime() + UNDO_TTL_DAYS * 24 * HOUR_MS),
    },
  });
}
