import type { Context } from "../context";
import type { Prisma } from "./db/generated/client";
import { firstIdAt, NIL_ID } from "./db/ids";
import { identifier, join, sql } from "./db/sql";

/**
 * What is counted, by UTC hour. "events": those of the hour. "total": since midnight, as of the end of the hour, because
 * distinct accounts cannot be added up. "level": how many there were.
 */
export const METRICS = {
  sign_ups: "events",
  active_accounts: "total",
  active_subscriptions: "level",
  subscriptions_started: "events",
  subscriptions_renewed: "events",
  subscriptions_canceled: "events",
  subscriptions_expired: "events",
  update_checks: "total",
  notifications_sent: "events",
  notifications_failed: "events",
} as const;

export type Metric = keyof typeof METRICS;

export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;

export function startOf(at: Date, lengthMs: number): Date {
  return new Date(Math.floor(at.getTime() / lengthMs) * lengthMs);
}

type Deps = Pick<Context, "db" | "now">;

/** How far back the first run counts. */
const MAX_DAYS = 35;
const RETENTION_DAYS = 400;
/** When the last run began, in milliseconds: a row beside the metrics. */
const LAST_RUN = "last_run";
/** When levels are counted again, in milliseconds: another such row. */
const LEVELS_DUE = "levels_due";
const EPOCH = new Date(0);
/** Of one connection. */
const LEVELS_TIME_SHARE = 0.005;
/** What is due later was stored while a clock was ahead. */
const MAX_LEVELS_WAIT_MS = DAY_MS;

const SUBSCRIPTION_EVENTS = {
  INITIAL_PURCHASE: "subscriptions_started",
  RENEWAL: "subscriptions_renewed",
  CANCELLATION: "subscriptions_canceled",
  EXPIRATION: "subscriptions_expired",
} as const satisfies Record<string, Metric>;

/**
 * Counts what the overview shows since the last hour that was counted. Of several processes, one counts every few
 * minutes. The overview then reads a few thousand rows, whatever the number of accounts, events and notifications.
 */
export async function updateStatistics(deps: Deps, { minAgeMs = 0 } = {}): Promise<void> {
  const { db } = deps;
  const now = deps.now();
  if (!(await claimRun(db, now, minAgeMs))) return;
  const oldest = startOf(new Date(now.getTime() - MAX_DAYS * DAY_MS), DAY_MS);
  const where = { hour: { gte: oldest, lte: now } }; // later ones were stored while a clock was ahead
  const latest = await db.hourlyStatistic.groupBy({ by: "metric", where, _max: { hour: true } });
  const since = (...metrics: Metric[]): Date => {
    const hours = metrics.map((metric) => latest.find((row) => row.metric === metric)?._max.hour ?? oldest);
    return hours.reduce((a, b) => (a < b ? a : b));
  };
  const changes = Object.values(SUBSCRIPTION_EVENTS);
  await store(db, countSignUps(since("sign_ups")));
  // An event is counted in the hour in which it was received, and may be applied hours later.
  await store(db, countSubscriptionEvents(new Date(since(...changes).getTime() - DAY_MS)));
  await store(db, countUpdateChecks(since("update_checks"), now));
  await store(db, countNotifications(since("notifications_sent", "notifications_failed")));
  await updateLevels(db, now);
  const before = new Date(now.getTime() - RETENTION_DAYS * DAY_MS);
  await db.hourlyStatistic.deleteMany({ where: { hour: { gt: EPOCH, lt: before } } });
}

/** When the statistics were last counted; null: never. */
export async function lastCountedAt({ db }: Pick<Context, "db">): Promise<Date | null> {
  const row = await db.hourlyStatistic.findUnique({ where: { metric_hour: { metric: LAST_RUN, hour: EPOCH } } });
  return row && new Date(Number(row.value));
}

async function claimRun(db: Deps["db"], now: Date, minAgeMs: number): Promise<boolean> {
  const at = now.getTime();
  const claimed = await db.$executeRaw`
    INSERT INTO "HourlyStatistic" AS last ("metric", "hour", "value") VALUES (${LAST_RUN}, ${EPOCH}, ${at}::bigint)
    ON CONFLICT ("metric", "hour") DO UPDATE SET "value" = EXCLUDED."value"
    WHERE last."value" <= ${at - minAgeMs}::bigint OR last."value" > ${at}::bigint -- a clock was ahead`;
  return claimed > 0;
}

/**
 * Counts what has no times to count by, and no index: one would cost a write for each minute of a session and for each
 * renewal. Reads two tables, of which a million rows take about a second, so it takes `LEVELS_TIME_SHARE` of the time.
 */
async function updateLevels(db: Deps["db"], now: Date): Promise<void> {
  const dueAt = { metric: LEVELS_DUE, hour: EPOCH };
  const due = await db.hourlyStatistic.findUnique({ where: { metric_hour: dueAt } });
  const leftMs = Number(due?.value ?? 0) - now.getTime();
  if (leftMs > 0 && leftMs <= MAX_LEVELS_WAIT_MS) return;
  const startedAt = performance.now();
  const levels = {
    active_accounts: await countActiveAccounts(db, now),
    active_subscriptions: await countActiveSubscriptions(db, now),
  };
  const hour = startOf(now, HOUR_MS);
  for (const [metric, value] of Object.entries(levels)) await storeOne(db, { metric, hour, value });
  const waitMs = Math.min(MAX_LEVELS_WAIT_MS, Math.round((performance.now() - startedAt) / LEVELS_TIME_SHARE));
  await storeOne(db, { ...dueAt, value: now.getTime() + waitMs });
}

async function storeOne(db: Deps["db"], { value, ...key }: { metric: string; hour: Date; value: number }) {
  await db.hourlyStatistic.upsert({ where: { metric_hour: key }, create: { ...key, value }, update: { value } });
}

/** Stores the rows of a query with the columns metric, hour and value. */
async function store(db: Deps["db"], counted: Prisma.Sql): Promise<void> {
  await db.$executeRaw`
    INSERT INTO "HourlyStatistic" ("metric", "hour", "value") ${counted}
    ON CONFLICT ("metric", "hour") DO UPDATE SET "value" = EXCLUDED."value"`;
}

const hourOf = (column: string): Prisma.Sql => sql`date_trunc('hour', ${identifier(column)}, 'UTC')`;

/** An account's id has the time of its creation. */
function countSignUps(since: Date): Prisma.Sql {
  return sql`
    SELECT 'sign_ups', ${hourOf("createdAt")}, count(*) FROM "Account"
    WHERE "id" >= ${firstIdAt(since)}::uuid AND "createdAt" >= ${since} GROUP BY 2`;
}

function countSubscriptionEvents(since: Date): Prisma.Sql {
  const cases = Object.entries(SUBSCRIPTION_EVENTS).map(([type, metric]) => sql`WHEN ${type} THEN ${metric}`);
  return sql`
    SELECT CASE "type" ${join(cases, " ")} END, ${hourOf("receivedAt")}, count(*) FROM "BillingEvent"
    WHERE "state" = 'processed' AND "receivedAt" >= ${since}
      AND "type" IN (${join(Object.keys(SUBSCRIPTION_EVENTS))}) GROUP BY 1, 2`;
}

/** Update checks are counted by day: a past day has its total in its last hour. */
function countUpdateChecks(since: Date, now: Date): Prisma.Sql {
  // Another process's clock may already be in the next day.
  const [from, until] = [since, now].map((at) => at.toISOString().slice(0, 10));
  return sql`
    SELECT 'update_checks', least("day"::timestamp AT TIME ZONE 'UTC' + interval '23 hours', ${startOf(now, HOUR_MS)}::timestamptz),
      sum("checks")::bigint
    FROM "AdoptionCount" WHERE "day" >= ${from}::date AND "day" <= ${until}::date GROUP BY "day"`;
}

/** Reads the counts of finished deliveries, not the deliveries. */
function countNotifications(since: Date): Prisma.Sql {
  return sql`
    SELECT CASE "state" WHEN 'sent' THEN 'notifications_sent' ELSE 'notifications_failed' END, "hour",
      greatest(sum("count"), 0)
    FROM "PushOutcomeCount" WHERE "hour" >= ${since} AND "state" IN ('sent', 'failed') GROUP BY 1, 2`;
}

const BATCH_SIZE = 50_000;

/** Counts the accounts that were seen since midnight: each by the newest of its sessions that was. */
function countActiveAccounts(db: Deps["db"], now: Date): Promise<number> {
  const activeCondition = (session: Prisma.Sql) => sql`
    ${session}."expiresAt" > ${now} AND ${session}."lastSeenAt" >= ${startOf(now, DAY_MS)}`;
  const condition = sql`${activeCondition(sql`one`)} AND NOT EXISTS (
    SELECT FROM "Session" AS newer
    WHERE newer."accountId" = one."accountId" AND newer."id" > one."id" AND ${activeCondition(sql`newer`)})`;
  return countRows(db, "Session", condition);
}

export function countActiveSubscriptions(db: Deps["db"], now: Date): Promise<number> {
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
async function countRows(db: Deps["db"], table: string, condition: Prisma.Sql): Promise<number> {
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
