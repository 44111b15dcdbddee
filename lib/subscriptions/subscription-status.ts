import type { Context, Tx } from "../context";
import { batchLoad } from "../db/batch-load";
import { StoredPurchase } from "./purchase-state";
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
 * ids of the purchases that should have renewed by now.
 */
export async function currentStatus({ config, db, now }: Deps, accountId: string) {
  const purchases = (await readPurchases(db, accountId)) ?? [];
  if (purchases.some((purchase) => purchase.accountId === null)) await linkPurchases(db, accountId);
  const at = now();
  const overdue = purchases.filter((purchase) => isOverdue(purchase, at)).map(({ id }) => id);
  return { status: accountStatus(purchases, at, statusRules(config, accountId)), overdue };
}

/** An account's purchases, and those that name it and belong to nobody: as JSON, since decoding 30 columns costs more. */
const readPurchases = batchLoad(async (db, accountIds) => {
  const rows = await db.$queryRaw<{ id: string; purchases: unknown[] }[]>`
    SELECT account.id::text AS id, jsonb_agg(to_jsonb(purchase) ORDER BY purchase.id) AS purchases
    FROM unnest(${accountIds}::uuid[]) AS account (id)
    JOIN "Purchase" AS purchase
      ON purchase."accountId" = account.id OR (purchase."accountId" IS NULL AND purchase."appUserIds" @> ARRAY[account.id::text])
    GROUP BY account.id`;
  return new Map(rows.map(({ id, purchases }) => [id, StoredPurchase.array().parse(purchases)]));
});

/** Gives an account the purchases that name it and belong to nobody yet. The account is locked before its purchases. */
async function linkPurchases(db: Tx, accountId: string): Promise<void> {
  await db.$executeRaw`
    WITH account AS MATERIALIZED (SELECT id FROM "Account" WHERE id = ${accountId}::uuid FOR KEY SHARE)
    UPDATE "Purchase" AS purchase SET "accountId" = account.id FROM account
    WHERE purchase."accountId" IS NULL AND purchase."appUserIds" @> ARRAY[${accountId}]`;
}
