import type { Tx } from "../context";
import { AppError } from "../errors";
import type { Principal } from "../principal";

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

/** The account and the session of a caller. */
type Owner = { account: Pick<Principal["account"], "id" | "sessionEpoch">; session: Pick<Principal["session"], "id"> };

/**
 * Locks the caller's account and session, so that changes of the account take turns with each other and with the end of the
 * session. Returns the account's email.
 * @throws AppError unauthenticated if the session has ended since the request was authenticated
 */
export async function lockOwnAccount(tx: Tx, { account: { id, sessionEpoch }, session }: Owner): Promise<string> {
  const [row] = await tx.$queryRaw<{ email: string }[]>`
    SELECT account."email" FROM "Account" AS account JOIN "Session" AS session ON session."accountId" = account."id"
    WHERE account."id" = ${id}::uuid AND account."sessionEpoch" = ${sessionEpoch}::integer
      AND session."id" = ${session.id}::uuid AND session."revokedAt" IS NULL
    FOR NO KEY UPDATE OF account, session`;
  if (!row) throw new AppError("unauthenticated");
  return row.email;
}

/** Refuses an account that an operator has disabled, once its owner has been authenticated. @throws AppError account_disabled */
export function requireEnabled({ disabledAt }: { disabledAt: Date | null }): void {
  if (disabledAt !== null) throw new AppError("account_disabled");
}
