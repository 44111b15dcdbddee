import { requireAnotherAdmin } from "../../auth/account-checks";
import type { Context } from "../../context";
import { recordAccountChange } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { lockAccount, NOTHING_ENDED, revokeAccountSessionsInTx } from "./change-account";
import type { AccountChange, WithReason } from "./schema";

type Deps = Pick<Context, "db" | "now" | "removeDevices">;

/**
 * Disables an account: revokes its sessions, and refuses sign-ins. Its data is kept, and its subscription continues.
 * @throws AppError not_found, last_admin
 */
export function disableAccount(
  deps: Deps,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
): Promise<AccountChange> {
  return deps.db.$transaction(async (tx) => {
    await requireAnotherAdmin(tx, id);
    const account = await lockAccount(tx, id);
    if (account.disabledAt !== null) return { account, isChanged: false, ...NOTHING_ENDED };
    const disabledAt = deps.now();
    await tx.account.update({ where: { id }, data: { disabledAt } });
    await recordAccountChange(tx, disabledAt, operator, id, { type: "account_disabled", reason });
    const ended = await revokeAccountSessionsInTx(deps, tx, operator, { id, reason });
    return { account: { ...account, disabledAt }, isChanged: true, ...ended };
  });
}

/** Enables an account, whose owner can then sign in again. @throws AppError not_found */
export function enableAccount(
  { db, now }: Pick<Deps, "db" | "now">,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
): Promise<AccountChange> {
  return db.$transaction(async (tx) => {
    const account = await lockAccount(tx, id);
    if (account.disabledAt === null) return { account, isChanged: false, ...NOTHING_ENDED };
    await tx.account.update({ where: { id }, data: { disabledAt: null } });
    await recordAccountChange(tx, now(), operator, id, { type: "account_enabled", reason });
    return { account: { ...account, disabledAt: null }, isChanged: true, ...NOTHING_ENDED };
  });
}
