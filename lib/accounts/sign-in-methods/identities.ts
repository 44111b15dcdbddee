import { lockAccount } from "../../auth/account-checks";
import { requireStepUp, type StepUpProof } from "../../auth/step-up";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller, Principal } from "../../principal";
import { revokeOtherSessionsInTx } from "../sessions";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

/**
 * Locks an account, and counts its ways to sign in: the password, linked providers and passkeys. Concurrent removals take
 * turns, so that they cannot remove the last two.
 * @throws AppError unauthenticated if the account was deleted
 */
export async function lockSignInMethods(tx: Tx, accountId: string): Promise<{ email: string; count: number }> {
  await lockAccount(tx, accountId);
  const where = { id: accountId };
  const account = await tx.account.findUnique({ where, select: { email: true, passwordHash: true } });
  if (!account) throw new AppError("unauthenticated");
  const identities = await tx.identity.count({ where: { accountId } });
  const passkeys = await tx.passkey.count({ where: { accountId } });
  return { email: account.email, count: (account.passwordHash === null ? 0 : 1) + identities + passkeys };
}

/** A sign-in provider that is linked to an account. `isRevokedOnDeletion`: Apple is asked to end the app's access. */
export type LinkedIdentity = { id: string; provider: string; linkedAt: Date; isRevokedOnDeletion: boolean };

/** An account's linked providers, oldest first. */
export async function listIdentities(db: Tx, accountId: string): Promise<LinkedIdentity[]> {
  const identities = await db.identity.findMany({
    where: { accountId },
    orderBy: { createdAt: "asc" },
    select: { id: true, provider: true, createdAt: true, refreshToken: true },
  });
  return identities.map(({ createdAt: linkedAt, refreshToken, ...identity }) => {
    return { ...identity, linkedAt, isRevokedOnDeletion: refreshToken !== null };
  });
}

/**
 * Unlinks a provider from the caller's account after a step-up. Revokes the account's other sessions, which the
 * provider may have created, and sends an email to the owner.
 * @throws AppError not_found for another account's identity; last_sign_in_method if the account has no password, passkey
 *   or other identity; reauthentication_required, rate_limited, overloaded
 */
export async function unlinkIdentity(
  ctx: Deps,
  principal: Principal,
  { identityId, proof }: { identityId: string; proof: StepUpProof },
  caller: Caller,
): Promise<void> {
  const accountId = principal.account.id;
  await requireStepUp(ctx, principal, proof, caller);
  await ctx.db.$transaction(async (tx) => {
    const { email, count } = await lockSignInMethods(tx, accountId);
    const identities = await listIdentities(tx, accountId);
    const identity = identities.find(({ id }) => id === identityId);
    if (!identity) throw new AppError("not_found");
    if (count === 1) throw new AppError("last_sign_in_method");
    await tx.identity.delete({ where: { id: identityId } });
    const details = { provider: identity.provider };
    await recordSecurityEvent(tx, ctx.now(), accountId, "identity_unlinked", caller, { details });
    await revokeOtherSessionsInTx(ctx, tx, accountId, principal.session.id, caller);
    await ctx.emails.enqueue(tx, "identity_unlinked", email, details);
  });
  ctx.emails.wake();
}
