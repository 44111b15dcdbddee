import { hashEmailedToken } from "../../auth/emailed-token";
import { cancelEmailChanges } from "../../auth/reserved-emails";
import type { Context, Tx } from "../../context";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller } from "../../principal";
import type { PendingEmailChange } from "./schema";

type Deps = Pick<Context, "db" | "now">;

/** An account's change of email that waits for its confirmation; null if there is none. */
export async function findPendingEmailChange({ db, now }: Deps, accountId: string): Promise<PendingEmailChange | null> {
  const change = await db.emailChange.findFirst({
    where: { accountId, confirmedAt: null, confirmExpiresAt: { gt: now() } },
    orderBy: { createdAt: "desc" },
  });
  return change && toPending(change);
}

/** The change that an emailed token confirms; null if it no longer can. */
export function findUnconfirmedChange({ db, now }: Deps, token: string) {
  const where = { confirmTokenHash: hashEmailedToken(token), confirmedAt: null, confirmExpiresAt: { gt: now() } };
  return db.emailChange.findUnique({ where });
}

/** The email with which to sign in for an emailed token, as "j…@example.com": a stranger may have got it. null as above. */
export async function findMaskedEmail(deps: Deps, token: string): Promise<string | null> {
  const change = await findUnconfirmedChange(deps, token);
  return change?.oldEmail.replace(/^(.).*(?=@)/u, "$1…") ?? null;
}

/** The public part of a pending change. */
export function toPending(change: { newEmail: string; createdAt: Date; confirmExpiresAt: Date }): PendingEmailChange {
  return { email: change.newEmail, requestedAt: change.createdAt, expiresAt: change.confirmExpiresAt };
}

/** Cancels an account's pending change of email. Does nothing if there is none. */
export async function cancelEmailChange({ db, now }: Deps, accountId: string, caller: Caller): Promise<void> {
  await db.$transaction(async (tx) => {
    await lockEmail(tx, accountId);
    const count = await cancelEmailChanges(tx, now(), accountId);
    if (count > 0) await recordSecurityEvent(tx, now(), accountId, "email_change_canceled", caller);
  });
}

/** Locks an account, so that changes of its email take turns. Returns its email; undefined if it was deleted. */
export async function lockEmail(
  tx: Tx,
  accountId: string,
): Promise<{ email: string; emailVerifiedAt: Date | null } | undefined> {
  const [account] = await tx.$queryRaw<{ email: string; emailVerifiedAt: Date | null }[]>`
    SELECT "email", "emailVerifiedAt" FROM "Account" WHERE "id" = ${accountId}::uuid FOR NO KEY UPDATE`;
  return account;
}
