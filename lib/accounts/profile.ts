import type { Context } from "../context";
import { type LinkedIdentity, listIdentities } from "./identities";
import { toUser, type User } from "./schema";

/** What an account's page shows of the account itself. */
export type Profile = { user: User; hasPassword: boolean; identities: LinkedIdentity[] };

/** An account's profile; null where it was deleted meanwhile. */
export async function readProfile({ db }: Pick<Context, "db">, accountId: string): Promise<Profile | null> {
  const account = await db.account.findUnique({ where: { id: accountId } });
  if (!account) return null;
  const identities = await listIdentities(db, accountId);
  return { user: toUser(account), hasPassword: account.passwordHash !== null, identities };
}
