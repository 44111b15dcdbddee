import type { Context, Tx } from "../context";
import { AppError } from "../errors";

/** Who calls, as far as devices go. */
export type Owner = { account: { id: string }; session: { id: string } };

/**
 * Lets one registration of an account in at a time, so that it can count the devices; and keeps the session
 * from ending before the device that has to end with it is there. Returns the time by the database's clock, by which a
 * worker judges whether a device has registered since it was found dead.
 * @throws AppError unauthenticated, for a session that has ended
 */
export async function lockOwner(tx: Tx, { dbNow }: Pick<Context, "dbNow">, { account, session }: Owner): Promise<Date> {
  const [held] = await tx.$queryRaw<{ now: Date }[]>`
    SELECT ${dbNow()} AS "now" FROM "Account" AS account JOIN "Session" AS session ON session."accountId" = account."id"
    WHERE account."id" = ${account.id}::uuid AND session."id" = ${session.id}::uuid AND session."revokedAt" IS NULL
    FOR NO KEY UPDATE OF account FOR SHARE OF session`;
  if (!held) throw new AppError("unauthenticated");
  return held.now;
}
