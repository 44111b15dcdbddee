import type { Context, Tx } from "../context";
import { together } from "../db/together";
import { StoredLine } from "./line-state";
import { scheduleAfterSignIn, scheduleOverdue } from "./reconcile/schedule";
import { type BillingRules, statusRules } from "./rules";
import type { SubscriptionStatus } from "./schema";
import { accountStatus, isOverdue } from "./status";

type Deps = Pick<Context, "now"> & { config: BillingRules; db: Tx };

/**
 * What `currentStatus` says, for its owner. An overdue renewal is a reason to ask the provider, after the answer, and
 * so is an account that has no purchase: it is asked about once a session.
 */
export async function readSubscriptionStatus(
  ctx: Pick<Context, "billing" | "config" | "db" | "dbNow" | "log" | "now" | "reconciler">,
  caller: { account: { id: string }; session: { id: string } },
): Promise<SubscriptionStatus> {
  const { status, overdue } = await currentStatus(ctx, caller.account.id);
  void scheduleOverdue(ctx, overdue);
  if (status.subscriptions.length === 0) void scheduleAfterSignIn(ctx, caller.session.id);
  return status;
}

/**
 * An account's subscriptions as of now, after linking what was bought under its name before it was known, and the
 * ids of the lines that should have renewed by now.
 */
export async function currentStatus({ config, db, now }: Deps, accountId: string) {
  const lines = (await readLines(db, accountId)) ?? [];
  if (lines.some((line) => line.accountId === null)) await linkLines(db, accountId);
  const at = now();
  const overdue = lines.filter((line) => isOverdue(line, at)).map(({ id }) => id);
  return { status: accountStatus(lines, at, statusRules(config, accountId)), overdue };
}

/** An account's lines, and those that name it and belong to nobody: as JSON, since decoding 30 columns costs more. */
const readLines = together(async (db, accountIds) => {
  const rows = await db.$queryRaw<{ id: string; lines: unknown[] }[]>`
    SELECT account.id::text AS id, jsonb_agg(to_jsonb(line) ORDER BY line.id) AS lines
    FROM unnest(${accountIds}::uuid[]) AS account (id)
    JOIN "SubscriptionLine" AS line
      ON line."accountId" = account.id OR (line."accountId" IS NULL AND line.identities @> ARRAY[account.id::text])
    GROUP BY account.id`;
  return new Map(rows.map(({ id, lines }) => [id, StoredLine.array().parse(lines)]));
});

/** Gives an account the lines that name it and belong to nobody yet. The account is locked before its lines. */
async function linkLines(db: Tx, accountId: string): Promise<void> {
  await db.$executeRaw`
    WITH account AS MATERIALIZED (SELECT id FROM "Account" WHERE id = ${accountId}::uuid FOR KEY SHARE)
    UPDATE "SubscriptionLine" AS line SET "accountId" = account.id FROM account
    WHERE line."accountId" IS NULL AND line.identities @> ARRAY[${accountId}]`;
}
