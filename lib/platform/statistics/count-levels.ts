import type { Context } from "../../context";
import type { Prisma } from "../db/generated/client";
import { NIL_ID } from "../db/ids";
import { identifier, sql } from "../db/sql";
import { DAY_MS, startOf } from "./hourly-metrics";

type Db = Context["db"];

/** The rows that one statement reads. */
const BATCH_SIZE = 50_000;

/** Counts the accounts that were seen since midnight: each by the newest of its sessions that was. */
export function countActiveAccounts(db: Db, now: Date): Promise<number> {
  const activeCondition = (session: Prisma.Sql) => sql`
    ${session}."expiresAt" > ${now} AND ${session}."lastSeenAt" >= ${startOf(now, DAY_MS)}`;
  return countRows(
    db,
    "Session",
    sql`${activeCondition(sql`one`)} AND NOT EXISTS (
      SELECT FROM "Session" AS newer
      WHERE newer."accountId" = one."accountId" AND newer."id" > one."id" AND ${activeCondition(sql`newer`)})`,
  );
}

export function countActiveSubscriptions(db: Db, now: Date): Promise<number> {
  return countRows(db, "Purchase", activeSubscriptionCondition(now));
}

/**
 * The SQL condition that the purchase `one` is an active subscription: as `purchaseStatus` in lib/subscriptions decides,
 * without the leeway for renewals that are announced late.
 */
export const activeSubscriptionCondition = (now: Date): Prisma.Sql => sql`
  one."endedAt" IS NULL AND one."environment" = 'PRODUCTION' AND one."periodType" IS NOT NULL
    AND (one."isLifetime" OR one."currentPeriodEndsAt" > ${now}
      OR (one."billingIssueDetectedAt" IS NOT NULL AND one."gracePeriodEndsAt" > ${now}))`;

/**
 * Counts the rows of a table that fit a condition on `one`: all of them are read, in the order of their ids, in which they
 * are stored. Short statements hold up neither vacuum nor a migration.
 */
async function countRows(db: Db, table: string, condition: Prisma.Sql): Promise<number> {
  const rows = identifier(table);
  let count = 0;
  for (let [after, isEnd] = [NIL_ID, false]; !isEnd; ) {
    const [last] = await db.$queryRaw<{ id: string }[]>`
      SELECT one."id"::text FROM ${rows} AS one WHERE one."id" > ${after}::uuid
      ORDER BY one."id" OFFSET ${BATCH_SIZE - 1}::integer LIMIT 1`;
    const upTo = last ? sql`one."id" <= ${last.id}::uuid` : sql`true`;
    const [batch] = await db.$queryRaw<{ count: number }[]>`
      SELECT count(*)::integer AS "count" FROM ${rows} AS one
      WHERE one."id" > ${after}::uuid AND ${upTo} AND ${condition}`;
    count += batch?.count ?? 0;
    isEnd = last === undefined;
    after = last?.id ?? after;
  }
  return count;
}
