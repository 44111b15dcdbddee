import { lockAccount } from "../auth/account-checks";
import { revokeAllSessions } from "../auth/sessions/sessions";
import type { Context, Tx } from "../context";
import { COMMAND_LINE as NO_SOURCE } from "../platform/audit/operator-events";
import { recordSecurityEvent } from "../platform/audit/security-events";
import { consentWithdrawn } from "../webhooks/events";

type Deps = Parameters<Context["withdrawConsent"]>[0];

/**
 * Records a withdrawn consent: on the accounts, in their trails, and as the event `account.consent_withdrawn`. A second
 * withdrawal changes nothing until an operator has recorded that the consent was given again.
 */
export const withdrawConsent: Context["withdrawConsent"] = async (deps, tx, accountIds, withdrawnAt) => {
  for (const id of accountIds.toSorted()) await withdraw(deps, tx, id, withdrawnAt);
};

async function withdraw(deps: Deps, tx: Tx, id: string, withdrawnAt: Date): Promise<void> {
  await lockAccount(tx, id);
  const account = { id, consentWithdrawnAt: null };
  const { count } = await tx.account.updateMany({ where: account, data: { consentWithdrawnAt: withdrawnAt } });
  if (count === 0) return; // recorded before, or deleted meanwhile
  const record = (type: "consent_withdrawn" | "account_disabled", details: Record<string, string>) =>
    recordSecurityEvent(tx, deps.now(), id, type, NO_SOURCE, { actor: "service", details });
  await record("consent_withdrawn", { store: "APP_STORE", withdrawnAt: withdrawnAt.toISOString() });
  const isSuspended = deps.config.CONSENT_WITHDRAWAL_SUSPENDS && (await suspend(deps, tx, id));
  if (isSuspended) await record("account_disabled", { reason: "consent_withdrawn" });
  await deps.webhooks.record(tx, [consentWithdrawn(id, withdrawnAt, isSuspended)]);
}

/** Disables a user's account, as an operator can. An operator's account is left to the other operators. */
async function suspend({ now, removeDevices }: Deps, tx: Tx, id: string): Promise<boolean> {
  const disabledAt = now();
  const enabled = { id, role: "user", disabledAt: null } as const;
  const { count } = await tx.account.updateMany({ where: enabled, data: { disabledAt } });
  if (count > 0) await revokeAllSessions({ removeDevices }, tx, disabledAt, id);
  return count > 0;
}
