import { requireEnabled } from "../../auth/account-checks";
import { NEVER_REMOVED } from "../../auth/email-verification";
import { reservingAccountId } from "../../auth/reserved-emails";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordAccountChange } from "../../platform/audit/operator-events";
import { newId } from "../../platform/db/ids";
import type { Operator } from "../../principal";
import { accountCreated } from "../../webhooks/events";
import { inviteInTx } from "../invitations";
import { lockAndReadAccount, SUMMARY } from "./change-account";
import type { InvitedAccount, NewAccount, WithReason } from "./schema";

type Deps = Pick<Context, "config" | "db" | "emails" | "limits" | "now" | "webhooks">;

/**
 * Creates an account without a password, and invites its owner if asked to. It is not removed for its unverified email.
 * @throws AppError email_taken with the account's id; rate_limited
 */
export async function createAccount(
  ctx: Deps,
  operator: Operator,
  { invite = false, ...given }: NewAccount,
): Promise<InvitedAccount> {
  if (invite) await ctx.limits.consume("invitationMailByEmail", given.email);
  const created = await ctx.db.$transaction(async (tx) => {
    const createdAt = ctx.now();
    await rejectTaken(tx, given.email, createdAt);
    const data = [{ id: newId(), ...given, createdAt, unverifiedExpiresAt: NEVER_REMOVED }];
    const [account] = await tx.account.createManyAndReturn({ data, skipDuplicates: true, select: SUMMARY });
    if (!account) return rejectTaken(tx, given.email, createdAt); // created meanwhile
    await recordAccountChange(tx, createdAt, operator, account.id, { type: "account_created" });
    await ctx.webhooks.record(tx, [accountCreated(account.id)]);
    return { account, invitation: invite ? await inviteInTx(ctx, tx, operator, account) : null };
  });
  if (!created) throw new AppError("email_taken");
  ctx.emails.wake();
  return created;
}

/** Refuses an email that an account has, or had until a change that can still be undone. @throws AppError email_taken */
async function rejectTaken(tx: Tx, email: string, at: Date): Promise<void> {
  const account = await tx.account.findUnique({ where: { email }, select: { id: true } });
  if (account) throw emailTaken(account.id, `The account ${account.id} has this email.`);
  const reservedBy = await reservingAccountId(tx, email, at);
  if (reservedBy) throw emailTaken(reservedBy, `The account ${reservedBy} can still return to this email.`);
}

const emailTaken = (accountId: string, detail: string) =>
  new AppError("email_taken", { detail, fields: { accountId } });

/**
 * Invites the owner of an account that has neither a password nor a passkey. The link of an earlier invitation no longer works.
 * @throws AppError not_found, account_disabled, sign_in_method_exists, rate_limited
 */
export async function inviteAccount(
  ctx: Deps,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
): Promise<InvitedAccount> {
  const { email } = (await ctx.db.account.findUnique({ where: { id }, select: { email: true } })) ?? {};
  if (email === undefined) throw new AppError("not_found");
  await ctx.limits.consume("invitationMailByEmail", email);
  const invited = await ctx.db.$transaction(async (tx) => {
    const account = await lockAndReadAccount(tx, id);
    requireEnabled(account);
    return { account, invitation: await inviteInTx(ctx, tx, operator, account, reason) };
  });
  ctx.emails.wake();
  return invited;
}
