import type { Context } from "../context";
import { toUser, type User } from "./schema";

/** What an account's page shows of the account itself. `hasPassword`: there is one to ask for. */
export type Profile = { user: User; hasPassword: boolean };

/** An account's profile; null where it was deleted meanwhile. */
export async function readProfile({ db }: Pick<Context, "db">, accountId: string): Promise<Profile | null> {
  const account = await db.account.findUnique({ where: { id: accountId } });
  return account && { user: toUser(account), hasPassword: account.passwordHash !== null };
}
