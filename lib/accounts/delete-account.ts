import { requireAnotherAdmin } from "../auth/account-checks";
import { consumeEmailLimit } from "../auth/email-limits";
import { queueRevocations } from "../auth/sign-in-providers/apple-tokens";
import { requireStepUp, type StepUpProof } from "../auth/step-up";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { actorOn, requireOperator, withReason } from "../platform/audit/operator-events";
import { auditPseudonym, pseudonymizeEvents } from "../platform/audit/retention";
import { type EventExtra, networkOf, recordSecurityEvent } from "../platform/audit/security-events";
import { newId } from "../platform/db/ids";
import { withRetry } from "../platform/db/transaction";
import type { Caller, Operator, Principal } from "../principal";
import { removeAccountReceipts } from "../push/outbox/receipts";
import { anonymizeBilling } from "../subscriptions/anonymize-billing";
import { listStoreSubscriptions } from "../subscriptions/status/read-status";
import { accountDeleted } from "../webhooks/events";
import type { WebhookRecorder } from "../webhooks/outbox";
import type { DeletedAccount, WithReason } from "./admin/schema";

type Deps = Pick<
  Context,
  "appleRevocations" | "config" | "db" | "dbNow" | "hasher" | "limits" | "emails" | "now" | "webhooks"
>;

/**
 * Deletes the caller's account (App Store Review Guidelines, 5.1.1(v)). Requires the password, if there is one, and a
 * step-up. Returns the store subscriptions, which a server cannot cancel.
 * @throws AppError last_admin, reauthentication_required, rate_limited, overloaded
 */
export async function deleteAccount(ctx: Deps, principal: Principal, proof: StepUpProof, caller: Caller) {
  const { id } = principal.account;
  await requireStepUp(ctx, principal, proof, caller, { isPasswordRequired: true });
  const subscriptions = await listStoreSubscriptions(ctx, id);
  const { email, emailVerifiedAt } = await ctx.db.account.findUniqueOrThrow({ where: { id } });
  // Anyone can register an unverified email and delete the account, again and again.
  const shouldEmail = emailVerifiedAt !== null || (await consumeEmailLimit(ctx, "verification", email, caller.ip));
  await removeAccount(ctx, id, { caller, shouldEmail });
  ctx.emails.wake();
  ctx.appleRevocations.wake();
  return { status: "deleted", subscriptions, storeSubscriptionsCancelled: false };
}

/**
 * Deletes an account with all its data, and sends an email to its owner. Returns the store subscriptions, which only
 * their owner can cancel.
 * @throws AppError not_found, last_admin; unauthenticated if the operator's account was deleted or disabled meanwhile
 */
export async function deleteAccountAsOperator(
  deps: Omit<Deps, "hasher" | "limits">,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
): Promise<DeletedAccount> {
  const account = await deps.db.account.findUnique({ where: { id }, select: { id: true, email: true } });
  if (account === null) throw new AppError("not_found");
  const subscriptions = await listStoreSubscriptions(deps, id);
  const isDeleted = await removeAccount(deps, id, {
    caller: operator.source,
    shouldEmail: true,
    by: { operator, reason },
  });
  if (!isDeleted) throw new AppError("not_found");
  deps.emails.wake();
  deps.appleRevocations.wake();
  return { status: "deleted", ...account, subscriptions, storeSubscriptionsCancelled: false };
}

type RemoveDeps = Pick<Deps, "config" | "db" | "dbNow" | "now"> & {
  emails: Pick<Deps["emails"], "enqueue">;
  webhooks: WebhookRecorder;
};
/** `by` is set if an operator deletes the account: `caller` is then not the owner's client. */
type Removal = {
  caller: Pick<Caller, "ip" | "userAgent">;
  shouldEmail: boolean;
  by?: { operator: Operator } & WithReason;
};

/**
 * Removes an account and all its data in one transaction, queues an email to its owner if `shouldEmail`, and queues the
 * revocation of Apple's tokens. Keeps its events in the audit trail (under a pseudonym, until retention removes them)
 * and its billing history (without personal data). Retries if a concurrent billing event causes a deadlock. Returns
 * whether the account existed.
 * @throws AppError last_admin, unauthenticated
 */
export async function removeAccount(
  { config, db, dbNow, emails, now, webhooks }: RemoveDeps,
  accountId: string,
  { caller, shouldEmail, by }: Removal,
): Promise<boolean> {
  return withRetry(() =>
    db.$transaction(async (tx) => {
      await requireAnotherAdmin(tx, accountId);
      if (by) await requireOperator(tx, by.operator);
      await anonymizeBilling(tx, accountId);
      await removeAccountReceipts(tx, accountId);
      if (!by) await recordSecurityEvent(tx, now(), accountId, "account_deleted", caller);
      const [account] = await tx.$queryRaw<{ email: string; locale: string | null }[]>`
        WITH deleted AS (DELETE FROM "Account" WHERE "id" = ${accountId}::uuid RETURNING "id", "email", "locale"),
          revocations AS (${queueRevocations(dbNow())})
        SELECT "email", "locale" FROM deleted`;
      if (!account) return false;
      await webhooks.record(tx, [accountDeleted(accountId)]);
      // Locks the account before its queued email, as a password reset does.
      await tx.queuedEmail.deleteMany({ where: { email: account.email } });
      await pseudonymizeEvents(config, tx, [accountId]);
      if (by) {
        const extra = { actor: actorOn(by.operator, accountId), ...withReason(undefined, by.reason) };
        await recordDeletion(tx, now(), auditPseudonym(config, accountId), caller, extra);
      }
      if (shouldEmail) await emails.enqueue(tx, "account_deleted", account.email, null, account.locale);
      return true;
    }),
  );
}

/** Records who deleted an account, from where and why. Unlike the events of the account, this one stays as it is. */
async function recordDeletion(
  tx: Tx,
  at: Date,
  accountId: string,
  { ip, userAgent }: Removal["caller"],
  extra: EventExtra,
): Promise<void> {
  const data = { id: newId(), accountId, type: "account_deleted", at, network: networkOf(ip), userAgent, ...extra };
  await tx.auditEvent.create({ data });
}
