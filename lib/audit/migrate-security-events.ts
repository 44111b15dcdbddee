import type { Context, Tx } from "../context";
import type { Prisma } from "../db/generated/client";
import { deleteBatch, removeInBatches } from "../db/remove-in-batches";
import { sql, uuidArray } from "../db/sql";
import { auditPseudonym, pseudonymizeEvents } from "./audit-pseudonym";

type Deps = Pick<Context, "config" | "db">;
type Row = {
  id: string;
  accountId: string;
  type: string;
  at: Date;
  network: string | null;
  userAgent: string | null;
};

/** The user agent by which version 1.0 marked the events that an operator caused. */
const OPERATOR = "operator";

/**
 * Moves the security events of version 1.0 to the audit trail, also those that the previous build writes while both run.
 * Can run in several processes, and be killed at any time. Returns how many.
 */
export function migrateSecurityEvents(ctx: Deps): Promise<number> {
  // A condition that every row meets makes the index of `at` return the rows in their order.
  return migrateWhere(ctx, sql`"at" < 'infinity'::timestamptz`);
}

/** The same for the events of one account, so that a read or a deletion finds all of them in the audit trail. */
export async function migrateSecurityEventsOf(ctx: Deps, accountId: string): Promise<void> {
  const isLeft = await ctx.db.securityEvent.findFirst({ where: { accountId }, select: { id: true } });
  if (isLeft) await migrateWhere(ctx, sql`"accountId" = ${accountId}::uuid`);
}

function migrateWhere(ctx: Deps, condition: Prisma.Sql): Promise<number> {
  return removeInBatches(() => ctx.db.$transaction((tx) => migrateBatch(ctx, tx, condition)));
}

/** Locks the accounts until their events are moved: a deletion waits, and then finds them in the audit trail. */
async function migrateBatch({ config }: Pick<Deps, "config">, tx: Tx, condition: Prisma.Sql): Promise<number> {
  const rows = await tx.$queryRaw<Row[]>`
    ${deleteBatch("SecurityEvent", "id", condition, "at")}
    RETURNING "id"::text, "accountId"::text, "type"::text, "at", "network", "userAgent"`;
  const accountIds = [...new Set(rows.map(({ accountId }) => accountId))];
  const accounts = await tx.$queryRaw<{ id: string }[]>`
    SELECT "id"::text FROM "Account" WHERE "id" = ANY(${uuidArray(accountIds)}) ORDER BY "id" FOR KEY SHARE`;
  const existing = new Set(accounts.map(({ id }) => id));
  const events = rows.map((row) => (existing.has(row.accountId) ? toEvent(row) : toDeletedEvent(config, row)));
  await tx.auditEvent.createMany({ data: events });
  // The previous build has deleted these accounts. It does not know the events that this build has recorded of them.
  const deletedIds = accountIds.filter((id) => !existing.has(id));
  await pseudonymizeEvents(config, tx, deletedIds);
  return rows.length;
}

function toEvent({ userAgent, ...event }: Row) {
  return userAgent === OPERATOR ? { ...event, actor: OPERATOR } : { ...event, userAgent };
}

function toDeletedEvent(config: Deps["config"], { id, accountId, type, at, userAgent }: Row) {
  const actor = userAgent === OPERATOR ? OPERATOR : "account";
  return { id, accountId: auditPseudonym(config, accountId), type, at, actor };
}
