import { z } from "zod";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { Reason } from "../../platform/audit/schema";
import type { AccountRole } from "../../platform/db/generated/client";
import { idOr, MAX_ID } from "../../platform/db/ids";
import { Email } from "../../platform/email";
import { type PageQuery, readPage } from "../../platform/lists";
import type { Operator } from "../../principal";
import { setRole } from "./change-account";

/** An account with a role. */
export type ListedOperator = {
  id: string;
  email: string;
  name: string | null;
  role: AccountRole;
  disabledAt: Date | null;
  hasSecondFactor: boolean;
  /** When one of its sessions was last used. null: it has none. */
  lastSeenAt: Date | null;
};

/** A page of the operators, the newest account first. @throws AppError invalid_query */
export async function listOperators({ db }: Pick<Context, "db">, page: PageQuery) {
  const { entries, nextCursor } = await readPage("operators", page, async ({ after, take }) =>
    db.account.findMany({
      where: { id: { in: await findOperators(db, after, take) } },
      orderBy: { id: "desc" },
      select: {
        id: true,
        email: true,
        name: true,
        role: true,
        disabledAt: true,
        totpFactors: { where: { confirmedAt: { not: null } }, select: { id: true }, take: 1 },
        passkeys: { select: { id: true }, take: 1 },
        sessions: { orderBy: { createdAt: "desc" }, select: { lastSeenAt: true }, take: 10 },
      },
    }),
  );
  const operators = entries.map(({ totpFactors, passkeys, sessions, ...account }): ListedOperator => {
    const seen = sessions.map(({ lastSeenAt }) => lastSeenAt).sort((a, b) => b.getTime() - a.getTime());
    return { ...account, hasSecondFactor: totpFactors.length + passkeys.length > 0, lastSeenAt: seen[0] ?? null };
  });
  return { operators, nextCursor };
}

/** The condition is a literal, as the partial index has it. */
async function findOperators(db: Tx, after: string | null, take: number): Promise<string[]> {
  const rows = await db.$queryRaw<{ id: string }[]>`
    SELECT account."id"::text FROM "Account" AS account
    WHERE "role" <> 'user' AND account."id" < ${idOr(MAX_ID, after)}::uuid
    ORDER BY account."id" DESC LIMIT ${take}::integer`;
  return rows.map(({ id }) => id);
}

export const RoleGrant = z.object({
  email: Email,
  role: z.enum(["user", "support", "admin"]),
  reason: Reason.optional(),
});
export type RoleGrant = z.infer<typeof RoleGrant>;

/** Gives the account with an email a role. @throws AppError not_found, last_admin */
export async function grantRole(
  deps: Pick<Context, "db" | "now">,
  operator: Operator,
  { email, role, reason }: RoleGrant,
): Promise<void> {
  const account = await deps.db.account.findUnique({ where: { email }, select: { id: true } });
  if (!account) throw new AppError("not_found");
  await setRole(deps, operator, account.id, { role, reason });
}
