import type { Tx } from "../context";
import { AppError } from "../errors";

/**
 * Requires that an account is not the only admin who can sign in. Call it in the transaction that deletes, disables or
 * demotes the account, before any lock. It locks every admin in one order, so that of two transactions the second one
 * counts what the first one left.
 * @throws AppError last_admin
 */
export async function requireAnotherAdmin(tx: Tx, accountId: string): Promise<void> {
  const account = await tx.account.findUnique({ where: { id: accountId }, select: { role: true } });
  if (account?.role !== "admin") return;
  const admins = await tx.$queryRaw<{ id: string }[]>`
    SELECT "id"::text FROM "Account"
    WHERE "role" = 'admin' AND "role" <> 'user' AND "disabledAt" IS NULL ORDER BY "id" FOR NO KEY UPDATE`;
  if (admins.length === 1 && admins[0]?.id === accountId) throw new AppError("last_admin");
}

/** Locks an account, so that changes of it take turns. Returns its email; undefined if it was deleted. */
export async function lockAccount(tx: Tx, id: string): Promise<string | undefined> {
  const [account] = await tx.$queryRaw<{ email: string }[]>`
    SELECT "email" FROM "Account" WHERE "id" = ${id}::uuid FOR NO KEY UPDATE`;
  return account?.email;
}

/** Refuses an account that an operator has disabled, once its owner has been authenticated. @throws AppError account_disabled */
export function requireEnabled({ disabledAt }: { disabledAt: Date | null }): void {
  if (disabledAt !== null) throw new AppError("account_disabled");
}
