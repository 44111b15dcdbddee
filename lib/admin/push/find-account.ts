import { Email } from "../../auth/email";
import type { Context } from "../../context";
import { isUuid } from "../../db/ids";
import { AppError } from "../../errors";

/** Returns the id of an account, by its id or email. @throws AppError not_found */
export async function findAccountId({ db }: Pick<Context, "db">, given: string): Promise<string> {
  const email = Email.safeParse(given);
  const where = isUuid(given) ? { id: given.toLowerCase() } : email.success ? { email: email.data } : null;
  const account = where && (await db.account.findUnique({ where, select: { id: true } }));
  if (!account) throw new AppError("not_found", { detail: `Account not found: ${given}` });
  return account.id;
}
