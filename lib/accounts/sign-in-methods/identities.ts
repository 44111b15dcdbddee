import { lockOwnAccount } from "../../auth/account-checks";
import { requireStepUp, type StepUpProof } from "../../auth/step-up";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller, Principal } from "../../principal";
import { revokeOtherSessionsInTx } from "../sessions";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

/**
 * Counts the ways to sign in to an account, which is locked, so that concurrent removals cannot remove the last two: the
 * password, linked providers and passkeys.
 */
export async function countSignInMethods(tx: Tx, accountId: string): Promise<{ email: string; count: number }> {
  const where = { id: accountId };
  const account = await tx.account.findUniqueOrThrow({ where, select: { email: true, passwordHash: true } });
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
 *   or other identity; unauthenticated if the session ended meanwhile; reauthentication_required, rate_limited, overloaded
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
    await lockOwnAccount(tx, principal);
    const { email, count } = await countSignInMethods(tx, accountId);
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
