import type { Context } from "../../context";
import { AppError } from "../../errors";
import { actorOn, withReason } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { listStoreSubscriptions } from "../../subscriptions/status/read-status";
import { removeAccount } from "../delete-account";
import type { DeletedAccount, WithReason } from "./schema";

type Deps = Pick<Context, "appleRevocations" | "config" | "db" | "dbNow" | "emails" | "now" | "webhooks">;

/**
 * Deletes an account with all its data, and sends an email to its owner. Returns the store subscriptions, which only their
 * owner can cancel.
 * @throws AppError not_found, last_admin
 */
export async function deleteAccount(
  deps: Deps,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
): Promise<DeletedAccount> {
  const account = await deps.db.account.findUnique({ where: { id }, select: { id: true, email: true } });
  if (account === null) throw new AppError("not_found");
  const subscriptions = await listStoreSubscriptions(deps, id);
  const extra = { actor: actorOn(operator, id), ...withReason(undefined, reason) };
  const isDeleted = await removeAccount(deps, id, { caller: operator.source, shouldEmail: true, operator: extra });
  if (!isDeleted) throw new AppError("not_found");
  deps.emails.wake();
  deps.appleRevocations.wake();
  return { status: "deleted", ...account, subscriptions, storeSubscriptionsCancelled: false };
}
