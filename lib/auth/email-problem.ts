import type { Tx } from "../context";
import { sql } from "../platform/db/sql";

/**
 * Why emails do not reach an account's owner. `bounced`: a mail server refuses them for good. `complained`: the owner has
 * reported one as spam. `forwarding_off`: the owner has told Apple not to forward those to a private address.
 */
export type EmailProblem = "bounced" | "complained" | "forwarding_off";

/** The state of an email that is new to its account. */
export const NO_EMAIL_PROBLEM = { emailProblem: null, emailProblemAt: null };

/**
 * Stores whether emails reach the owner at this address (null: they do), unless a later report did. What a mail server says
 * does not change what the owner wants: `complained` and `forwarding_off`. Returns the account's id if the problem is another
 * one now; null if it is not, or no account has this email.
 */
export async function setEmailProblem(
  tx: Tx,
  { id = null, email }: { id?: string | null; email: string },
  problem: EmailProblem | null,
  { at, by }: { at: Date; by: "owner" | "mail_server" },
): Promise<string | null> {
  const isOfServer = by === "mail_server";
  const [changed] = await tx.$queryRaw<{ id: string }[]>`
    WITH known AS (
      SELECT "id", "emailProblem" FROM "Account"
      WHERE "email" = ${email} AND (${id}::uuid IS NULL OR "id" = ${id}::uuid) FOR UPDATE
    ), changed AS (
      UPDATE "Account" AS account SET "emailProblem" = ${problem}::text, "emailProblemAt" = ${at}::timestamptz,
        "updatedAt" = greatest(account."updatedAt", ${at}::timestamptz)
      FROM known WHERE account."id" = known."id"
        AND (account."emailProblemAt" IS NULL OR account."emailProblemAt" < ${at}::timestamptz)
        AND ${isOfServer ? sql`coalesce(account."emailProblem", 'bounced') = 'bounced'` : sql`true`}
      RETURNING account."id"
    )
    SELECT "id"::text FROM changed JOIN known USING ("id") WHERE "emailProblem" IS DISTINCT FROM ${problem}::text`;
  return changed?.id ?? null;
}
