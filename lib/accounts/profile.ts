import type { Context } from "../context";
import { LOCALES, type Locale, toLocale } from "../locale";
import { type LinkedIdentity, listIdentities } from "./identities";
import { toUser, type User } from "./schema";

/** The profile on the account page. */
export type Profile = { user: User; locale: Locale; hasPassword: boolean; identities: LinkedIdentity[] };

/** An account's profile; null if the account has been deleted. */
export async function readProfile({ db }: Pick<Context, "db">, accountId: string): Promise<Profile | null> {
  const account = await db.account.findUnique({ where: { id: accountId } });
  if (!account) return null;
  const locale = toLocale(account.locale) ?? LOCALES[0];
  const identities = await listIdentities(db, accountId);
  return { user: toUser(account), locale, hasPassword: account.passwordHash !== null, identities };
}
