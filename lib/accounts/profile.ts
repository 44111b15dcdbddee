import type { Context } from "../context";
import { toUser, type User } from "./schema";

/** What an account's page shows of the account itself. `providers`: those that sign in to it. */
export type Profile = { user: User; hasPassword: boolean; providers: string[] };

/** An account's profile; null where it was deleted meanwhile. */
export async function readProfile({ db }: Pick<Context, "db">, accountId: string): Promise<Profile | null> {
  const account = await db.account.findUnique({
    where: { id: accountId },
    include: { identities: { select: { provider: true } } },
  });
  if (!account) return null;
  const providers = account.identities.map(({ provider }) => provider);
  return { user: toUser(account), hasPassword: account.passwordHash !== null, providers };
}
