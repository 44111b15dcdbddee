import { lockOwnAccount } from "../../auth/account-checks";
import type { Passkey } from "../../auth/passkeys/schema";
import { toPasskey } from "../../auth/passkeys/stored-passkeys";
import { requireStepUp } from "../../auth/step-up";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller, Principal } from "../../principal";
import { revokeOtherSessionsInTx } from "../sessions";
import { countSignInMethods } from "./identities";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

/** Renames a passkey. @throws AppError not_found, also for another account's passkey */
export async function renamePasskey(db: Tx, accountId: string, passkeyId: string, name: string): Promise<Passkey> {
  const [row] = await db.passkey.updateManyAndReturn({ where: { id: passkeyId, accountId }, data: { name } });
  if (!row) throw new AppError("not_found");
  return toPasskey(row);
}

/**
 * Removes a passkey of the caller's account after a step-up. Revokes the account's other sessions, which a lost device may
 * hold, and sends an email to the owner.
 * @throws AppError not_found, also for another account's passkey; last_sign_in_method; unauthenticated if the session
 *   ended meanwhile; reauthentication_required, rate_limited, overloaded
 */
export async function removePasskey(ctx: Deps, principal: Principal, passkeyId: string, caller: Caller) {
  const accountId = principal.account.id;
  await requireStepUp(ctx, principal, {}, caller);
  await ctx.db.$transaction(async (tx) => {
    await lockOwnAccount(tx, principal);
    const { email, count } = await countSignInMethods(tx, accountId);
    const passkey = await tx.passkey.findUnique({ where: { id: passkeyId, accountId } });
    if (!passkey) throw new AppError("not_found");
    if (count === 1) throw new AppError("last_sign_in_method");
    await tx.passkey.delete({ where: { id: passkeyId } });
    const at = ctx.now();
    const { id, name } = passkey;
    await recordSecurityEvent(tx, at, accountId, "passkey_removed", caller, { details: { passkeyId: id, name } });
    await revokeOtherSessionsInTx(ctx, tx, accountId, principal.session.id, caller);
    await ctx.emails.enqueue(tx, "factor_removed", email, { factor: "passkey" });
  });
  ctx.emails.wake();
}
