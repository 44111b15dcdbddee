import type { Tx } from "../context";
import { AppError } from "../errors";

/**
 * Locks an account, and counts its ways to sign in: the password, linked providers and passkeys. Concurrent removals take
 * turns, so that they cannot remove the last two.
 * @throws AppError unauthenticated if the account was deleted
 */
export async function lockSignInMethods(tx: Tx, accountId: string): Promise<{ email: string; count: number }> {
  const [account] = await tx.$queryRaw<{ email: string; passwords: number }[]>`
    SELECT "email", ("passwordHash" IS NOT NULL)::int AS "passwords" FROM "Account"
    WHERE "id" = ${accountId}::uuid FOR NO KEY UPDATE`;
  if (!account) throw new AppError("unauthenticated");
  // Separate statements, because a statement that waits for the lock would count the rows as they were before.
  const identities = await tx.identity.count({ where: { accountId } });
  const passkeys = await tx.passkey.count({ where: { accountId } });
  return { email: account.email, count: account.passwords + identities + passkeys };
}
