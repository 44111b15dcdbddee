import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import type { Principal } from "../auth/authenticate";
import { reauthenticate } from "../auth/passwords/reauthenticate";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { revokeOtherSessionsInTx } from "./sessions";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "emails" | "now">;

/** A provider that signs in to an account. */
export type LinkedIdentity = { id: string; provider: string; createdAt: Date };

/** The providers that sign in to an account, oldest first. */
export function listIdentities(db: Tx, accountId: string): Promise<LinkedIdentity[]> {
  return db.identity.findMany({
    where: { accountId },
    orderBy: { createdAt: "asc" },
    select: { id: true, provider: true, createdAt: true },
  });
}

/**
 * Removes a provider from the caller's account, once the caller has proved again who they are. Ends the account's other
 * sessions, since some may have come by that provider, and mails the owner.
 * @throws AppError not_found for an identity that is not the account's; last_sign_in_method where there is no password
 *   and no other identity; reauthentication_required, rate_limited, overloaded
 */
export async function unlinkIdentity(
  ctx: Deps,
  principal: Principal,
  { identityId, password }: { identityId: string; password: string | undefined },
  caller: Caller,
): Promise<void> {
  const accountId = principal.account.id;
  await reauthenticate(ctx, principal, password, caller);
  await ctx.db.$transaction(async (tx) => {
    // Of two at the same moment the second sees what the first has left.
    const [account] = await tx.$queryRaw<{ email: string; hasPassword: boolean }[]>`
      SELECT "email", "passwordHash" IS NOT NULL AS "hasPassword" FROM "Account"
      WHERE "id" = ${accountId}::uuid FOR NO KEY UPDATE`;
    const identities = await listIdentities(tx, accountId);
    if (!account || !identities.some(({ id }) => id === identityId)) throw new AppError("not_found");
    if (!account.hasPassword && identities.length === 1) throw new AppError("last_sign_in_method");
    await tx.identity.delete({ where: { id: identityId } });
    await recordSecurityEvent(tx, ctx.now(), accountId, "identity_unlinked", caller);
    await revokeOtherSessionsInTx(tx, ctx.now(), { accountId, keep: principal.session.id }, caller);
    await ctx.emails.enqueue(tx, "identity_unlinked", account.email);
  });
  ctx.emails.wake();
}
