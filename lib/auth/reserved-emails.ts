import type { Tx } from "../context";
import type { Prisma } from "../platform/db/generated/client";
import { sql } from "../platform/db/sql";

/**
 * The SQL condition that an email belonged to another account until a change that can still be undone. Nobody else can use
 * the email until then, or the change could not be undone.
 */
export function reservedEmailCondition(email: string, at: Date, accountId: string | null = null): Prisma.Sql {
  return sql`EXISTS (
    SELECT FROM "EmailChange" WHERE "oldEmail" = ${email} AND "undoTokenHash" IS NOT NULL
      AND "expiresAt" > ${at}::timestamptz AND "accountId" IS DISTINCT FROM ${accountId}::uuid)`;
}

/** The account that can still return to an email. */
export async function reservingAccountId(tx: Tx, email: string, at: Date): Promise<string | null> {
  const where = { oldEmail: email, undoTokenHash: { not: null }, expiresAt: { gt: at } };
  return (await tx.emailChange.findFirst({ where, select: { accountId: true } }))?.accountId ?? null;
}

/** Whether that condition holds for a new account. */
export const isEmailReserved = async (tx: Tx, email: string, at: Date): Promise<boolean> =>
  (await reservingAccountId(tx, email, at)) !== null;

/** Revokes the links that would confirm a change of an account's email. Returns how many changes were pending. */
export async function cancelEmailChanges(tx: Tx, now: Date, accountId: string): Promise<number> {
  const { count } = await tx.emailChange.updateMany({
    where: { accountId, confirmedAt: null, confirmExpiresAt: { gt: now } },
    data: { confirmExpiresAt: new Date(0) }, // the clock may be set back
  });
  return count;
}
