import { z } from "zod";
import type { Tx } from "../context";
import { AppError } from "../errors";
import type { Config } from "./config";
import { isUuid } from "./db/ids";
import { Email } from "./email";

type Deps = { db: Pick<Tx, "account"> };

export const AccountName = z.string().trim().min(1).max(320).describe("An account's id or email.");

/** Returns the id of an account, by its id or email. @throws AppError not_found */
export async function findAccountId({ db }: Deps, given: string): Promise<string> {
  const email = Email.safeParse(given);
  const where = isUuid(given) ? { id: given.toLowerCase() } : email.success ? { email: email.data } : null;
  const account = where && (await db.account.findUnique({ where, select: { id: true } }));
  if (!account) throw new AppError("not_found", `Account not found: ${given}`);
  return account.id;
}

/** As `findAccountId`, but takes every id, also that of a deleted account. @throws AppError not_found */
export async function toAccountId(deps: Deps, given: string | undefined): Promise<string | undefined> {
  if (given === undefined) return undefined;
  return isUuid(given) ? given.toLowerCase() : findAccountId(deps, given);
}

/** The emails of all admins that can get one. */
export async function adminEmails(tx: Pick<Tx, "account">): Promise<string[]> {
  const where = { role: "admin", disabledAt: null, emailVerifiedAt: { not: null } } as const;
  const admins = await tx.account.findMany({ where, select: { email: true }, orderBy: { email: "asc" } });
  return admins.map(({ email }) => email);
}

/** The same, and those in OPERATOR_EMAIL: for what one admin alone could misuse. */
export async function allAdminEmails({ OPERATOR_EMAIL }: Pick<Config, "OPERATOR_EMAIL">, tx: Pick<Tx, "account">) {
  return new Set([...OPERATOR_EMAIL, ...(await adminEmails(tx))]);
}

export async function readEmails({ db }: Deps, ids: readonly (string | null)[]) {
  const known = [...new Set(ids.filter((id) => id !== null))];
  if (known.length === 0) return new Map<string, string>();
  const accounts = await db.account.findMany({ where: { id: { in: known } }, select: { id: true, email: true } });
  return new Map(accounts.map(({ id, email }) => [id, email]));
}

/** Entries of a list with the emails of their accounts; null where there is no account. */
export async function withEmails<Entry extends { accountId: string | null }>({ db }: Deps, entries: readonly Entry[]) {
  const ids = entries.map(({ accountId }) => accountId);
  const emails = await readEmails({ db }, ids);
  return entries.map((one) => ({ ...one, accountEmail: emails.get(one.accountId ?? "") ?? null }));
}
