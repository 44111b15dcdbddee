import { requireAnotherAdmin } from "../../auth/account-checks";
import type { Context } from "../../context";
import { recordAccountChange } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { lockAccount, NOTHING_ENDED } from "./change-account";
import type { NewRole, RoleChange } from "./schema";

/**
 * Gives an account a role, which its live sessions have at once.
 * @throws AppError not_found, last_admin
 */
export function setRole(
  { db, now }: Pick<Context, "db" | "now">,
  operator: Operator,
  id: string,
  { role, reason }: NewRole,
): Promise<RoleChange> {
  return db.$transaction(async (tx) => {
    if (role !== "admin") await requireAnotherAdmin(tx, id);
    const account = await lockAccount(tx, id);
    const previousRole = account.role;
    if (previousRole === role) return { account, previousRole, isChanged: false, ...NOTHING_ENDED };
    await tx.account.update({ where: { id }, data: { role } });
    const details = { from: previousRole, to: role };
    await recordAccountChange(tx, now(), operator, id, { type: "role_changed", details, reason });
    return { account: { ...account, role }, previousRole, isChanged: true, ...NOTHING_ENDED };
  });
}
