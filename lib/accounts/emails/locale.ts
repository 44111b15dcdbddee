import type { Context } from "../../context";
import type { Locale } from "../../platform/locale";

/** Sets the language of an account's emails. Does nothing if the account has been deleted. */
export async function setLocale({ db }: Pick<Context, "db">, accountId: string, locale: Locale): Promise<void> {
  await db.account.updateMany({ where: { id: accountId }, data: { locale } });
}
