import type { Context, Tx } from "../../context";
import { batchLoad } from "../../platform/db/batch-load";
import { uuidArray } from "../../platform/db/sql";
import { type BillingRules, readStatusRules, statusRules } from "../entitlement-rules";
import { StoredPurchase } from "../purchase-state";
import { scheduleAfterSignIn, scheduleOverdue } from "../reconcile/schedule";
import type { SubscriptionStatus } from "../schema";
import { accountStatus } from "./account-status";
import { isRenewalOverdue } from "./purchase-status";

type Deps = Pick<Context, "now"> & { config: BillingRules; db: Tx };

/**
 * Returns the subscription status of an account to its owner. Schedules the account to be reconciled if a renewal is
 * overdue, and once a session if the account has no purchases.
 */
export async function readSubscriptionStatus(
  ctx: Pick<Context, "billing" | "config" | "db" | "dbNow" | "log" | "now" | "reconciler">,
  principal: { account: { id: string }; session: { id: string } },
): Promise<SubscriptionStatus> {
  const { status, overdueIds } = await readStatus(ctx, principal.account.id);
  void scheduleOverdue(ctx, overdueIds);
  if (status.subscriptions.length === 0) void scheduleAfterSignIn(ctx, principal.session.id);
  return status;
}

/**
 * Computes an account's status as of now, and lists the purchases whose renewal is overdue. Links purchases that name
 * the account and were stored before it existed.
 */
export async function readStatus({ config, db, now }: Deps, accountId: string) {
  const { purchases, lastEventAt, sandboxUntil } = await readEntitlingPurchases(db, accountId);
  const at = now();
  const overdueIds = purchases.filter((purchase) => isRenewalOverdue(purchase, at)).map(({ id }) => id);
  const status = accountStatus(purchases, at, statusRules(config, accountId, isAfter(sandboxUntil, at)));
  return { status: { ...status, lastEventAt }, overdueIds };
}

type AccountPurchases = { purchases: StoredPurchase[]; lastEventAt: Date | null; sandboxUntil: Date | null };

const isAfter = (time: Date | null, at: Date) => time !== null && time > at;

/**
 * Reads the purchases of an account that its status is computed from, and when an event last named any purchase. Links
 * purchases that name the account and were stored before it existed.
 */
export async function readEntitlingPurchases(db: Tx, accountId: string): Promise<AccountPurchases> {
  const read = (await readPurchases(db, accountId)) ?? { purchases: [], lastEventAt: null, sandboxUntil: null };
  if (read.purchases.some((purchase) => purchase.accountId === null)) await linkPurchases(db, accountId);
  return read;
}

/**
 * Reads the purchases of an account, and the unlinked ones that name it. Leaves out one-time purchases without entitlements,
 * of which there may be many, unless they are to be linked. OFFSET keeps PostgreSQL from reading all unlinked purchases, by
 * the index on the account. JSON is faster to decode than 30 columns.
 */
const readPurchases = batchLoad(async (db, accountIds) => {
  type Row = { id: string; purchases: unknown[]; lastEventAt: Date | null; sandboxUntil: Date | null };
  const rows = await db.$queryRaw<Row[]>`
    SELECT account.id::text AS id, max("Account"."sandboxUntil") AS "sandboxUntil", max(purchase."lastEventAt") AS "lastEventAt",
      COALESCE(json_agg(purchase ORDER BY purchase.id) FILTER (WHERE purchase."accountId" IS NULL
        OR purchase."periodType" IS NOT NULL OR cardinality(purchase."entitlementIds") > 0), '[]') AS purchases
    FROM unnest(${accountIds}::uuid[]) AS account (id) LEFT JOIN "Account" USING (id)
    CROSS JOIN LATERAL (
      SELECT * FROM "Purchase" WHERE "accountId" = account.id
      UNION ALL
      SELECT * FROM (SELECT * FROM "Purchase" WHERE "appUserIds" @> ARRAY[account.id::text] OFFSET 0) AS named
      WHERE "accountId" IS NULL
    ) AS purchase
    GROUP BY account.id`;
  const read = rows.map(
    ({ id, ...row }) => [id, { ...row, purchases: StoredPurchase.array().parse(row.purchases) }] as const,
  );
  return new Map<string, AccountPurchases>(read);
});

/** Links the unlinked purchases that name an account to it. Locks the account before its purchases. */
async function linkPurchases(db: Tx, accountId: string): Promise<void> {
  await db.$executeRaw`
    WITH account AS MATERIALIZED (SELECT id FROM "Account" WHERE id = ${accountId}::uuid FOR KEY SHARE)
    UPDATE "Purchase" AS purchase SET "accountId" = account.id FROM account
    WHERE purchase."accountId" IS NULL AND purchase."appUserIds" @> ARRAY[${accountId}]`;
}

/** Returns a function that finds the accounts, among those given, for which an entitlement is active now, by their status. */
export function createEntitledAccounts({ config, now }: Omit<Deps, "db">): Context["entitledAccounts"] {
  return async (db, accountIds, entitlement) => {
    const rows = await db.$queryRaw<{ accountId: string; purchases: unknown[] }[]>`
      SELECT "accountId"::text, json_agg(purchase ORDER BY id) AS purchases FROM "Purchase" AS purchase
      WHERE "accountId" = ANY(${uuidArray(accountIds)}) GROUP BY "accountId"
      HAVING bool_or(${entitlement} = ANY("entitlementIds"))`;
    const at = now();
    const owners = rows.map(
      ({ accountId, purchases }) => [accountId, StoredPurchase.array().parse(purchases)] as const,
    );
    const rulesOf = await readStatusRules(
      db,
      { config, now },
      owners.flatMap(([, purchases]) => purchases),
    );
    const entitled = owners.filter(([accountId, purchases]) => {
      const { entitlements } = accountStatus(purchases, at, rulesOf(accountId));
      return entitlements.some(({ id, isActive }) => id === entitlement && isActive);
    });
    return new Set(entitled.map(([accountId]) => accountId));
  };
}

/**
 * Lists an account's subscriptions that a store may still charge for or give access to: those that renew, and those
 * whose access has not ended. A server cannot cancel them. `expiresAt` is when access ends.
 */
export async function listStoreSubscriptions(deps: Pick<Context, "config" | "now"> & { db: Tx }, accountId: string) {
  const { subscriptions, checkedAt } = (await readStatus(deps, accountId)).status;
  return subscriptions.flatMap(({ store, status, accessEndsAt: expiresAt, willRenew, managementUrl }) =>
    store !== null && (willRenew || (expiresAt !== null && expiresAt > checkedAt))
      ? [{ store, status, expiresAt, managementUrl }]
      : [],
  );
}
