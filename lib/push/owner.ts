import type { Context, Tx } from "../context";
import { AppError } from "../errors";

/** The account and session that a device belongs to. */
export type Owner = { account: { id: string }; session: { id: string } };

/**
 * Serializes the registrations of an account, so that its devices can be counted, and keeps the session from ending
 * before the device that ends with it exists. Returns the database's time.
 * @throws AppError unauthenticated, if the session has ended
 */
export async function lockOwner(tx: Tx, { dbNow }: Pick<Context, "dbNow">, { account, session }: Owner): Promise<Date> {
  const [locked] = await tx.$queryRaw<{ now: Date }[]>`
    SELECT ${dbNow()} AS "now" FROM "Account" AS account JOIN "Session" AS session ON session."accountId" = account."id"
    WHERE account."id" = ${account.id}::uuid AND session."id" = ${session.id}::uuid AND session."revokedAt" IS NULL
    FOR NO KEY UPDATE OF account FOR SHARE OF session`;
  if (!locked) throw new AppError("unauthenticated");
  return locked.now;
}
