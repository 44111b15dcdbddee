import { removeTotpAndRecoveryCodes } from "../../auth/second-factor/factors";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordAccountChange } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { lockAccount, revokeAccountSessionsInTx } from "./change-account";
import type { AccountChange, WithReason } from "./schema";

type Deps = Pick<Context, "db" | "emails" | "now" | "removeDevices">;

/**
 * Removes every second factor of an account, and its passkeys, which are on the devices that the owner has lost. Ends
 * its sessions, and sends an email to its owner.
 * @throws AppError not_found; no_second_factor if the account has neither
 */
export async function resetFactors(
  deps: Deps,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
): Promise<AccountChange> {
  const change = await deps.db.$transaction(async (tx) => {
    const account = await lockAccount(tx, id);
    const hadTotp = await removeTotpAndRecoveryCodes(tx, id);
    const { count: passkeys } = await tx.passkey.deleteMany({ where: { accountId: id } });
    if (!hadTotp && passkeys === 0) {
      throw new AppError("no_second_factor", { detail: "The account has no second factor and no passkey." });
    }
    const details = { hadTotp, passkeys };
    await recordAccountChange(tx, deps.now(), operator, id, { type: "factors_reset", details, reason });
    await deps.emails.enqueue(tx, "factor_removed", account.email, { factor: hadTotp ? "totp" : "passkey" });
    const ended = await revokeAccountSessionsInTx(deps, tx, operator, { id, reason });
    return { account, isChanged: true, ...ended };
  });
  deps.emails.wake();
  return change;
}
