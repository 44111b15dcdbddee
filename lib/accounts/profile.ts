import type { Context } from "../context";
import type { Locale } from "../platform/locale";
import { toUser, type User } from "./schema";
import { type LinkedIdentity, listIdentities } from "./sign-in-methods/identities";

export type AccountProfile = { user: User; hasPassword: boolean; identities: LinkedIdentity[] };

/** An account's profile; null if the account has been deleted. */
export async function readProfile({ db }: Pick<Context, "db">, accountId: string): Promise<AccountProfile | null> {
  const account = await db.account.findUnique({ where: { id: accountId } });
  if (!account) return null;
  const identities = await listIdentities(db, accountId);
  return { user: toUser(account), hasPassword: account.passwordHash !== null, identities };
}

/** Sets or removes an account's name. Does nothing if the account has been deleted. */
export async function setName({ db }: Pick<Context, "db">, accountId: string, name: string | null): Promise<void> {
  await db.account.updateMany({ where: { id: accountId }, data: { name } });
}

/** Sets the language of an account's emails. Does nothing if the account has been deleted. */
export async function setLocale({ db }: Pick<Context, "db">, accountId: string, locale: Locale): Promise<void> {
  await db.account.updateMany({ where: { id: accountId }, data: { locale } });
}
