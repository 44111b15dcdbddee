import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordAccountChange } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { lockAccount, revokeAccountSessionsInTx } from "./change-account";
import type { ProviderChange, UnlinkedProvider } from "./schema";

type Deps = Pick<Context, "db" | "emails" | "now" | "removeDevices">;

/**
 * Unlinks a provider from an account, and ends its sessions, which the provider may have created. Sends an email to its
 * owner, who can sign in by a password reset.
 * @throws AppError not_found, also if the provider is not linked
 */
export async function unlinkProvider(
  deps: Deps,
  operator: Operator,
  id: string,
  { provider, reason }: UnlinkedProvider,
): Promise<ProviderChange> {
  const change = await deps.db.$transaction(async (tx) => {
    const account = await lockAccount(tx, id);
    const { count } = await tx.identity.deleteMany({ where: { accountId: id, provider } });
    if (count === 0) throw new AppError("not_found", { detail: `The account is not linked to ${provider}.` });
    const details = { provider };
    await recordAccountChange(tx, deps.now(), operator, id, { type: "identity_unlinked", details, reason });
    const ended = await revokeAccountSessionsInTx(deps, tx, operator, { id, reason });
    await deps.emails.enqueue(tx, "identity_unlinked", account.email, details);
    return { account, isChanged: true, identitiesRemoved: count, ...ended };
  });
  deps.emails.wake();
  return change;
}
