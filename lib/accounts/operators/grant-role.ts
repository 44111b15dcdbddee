import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { Reason } from "../../platform/audit/schema";
import { Email } from "../../platform/email";
import type { Operator } from "../../principal";
import { setRole } from "../admin/set-role";

/** An account, and the role that it is to have. */
export const RoleGrant = z.object({
  email: Email,
  role: z.enum(["user", "support", "admin"]),
  reason: Reason.optional(),
});
export type RoleGrant = z.infer<typeof RoleGrant>;

/** Gives the account with an email a role. @throws AppError not_found, last_admin */
export async function grantRole(
  deps: Pick<Context, "db" | "now">,
  operator: Operator,
  { email, role, reason }: RoleGrant,
): Promise<void> {
  const account = await deps.db.account.findUnique({ where: { email }, select: { id: true } });
  if (!account) throw new AppError("not_found");
  await setRole(deps, operator, account.id, { role, reason });
}
