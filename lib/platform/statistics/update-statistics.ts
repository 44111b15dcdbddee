import type { Context } from "../../context";
import type { Prisma } from "../db/generated/client";
import { firstIdAt } from "../db/ids";
import { identifier, join, sql } from "../db/sql";
import { countActiveAccounts, countActiveSubscriptions } from "./count-levels";
import { DAY_MS, HOUR_MS, type Metric, startOf } from "./hourly-metrics";

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
  const latest = await db.$queryRaw<{ metric: string; hour: Date }[]>`
    SELECT "metric", max("hour") AS "hour" FROM "HourlyStatistic" WHERE "hour" >= ${oldest} GROUP BY "metric"`;
  const since = (...metrics: Metric[]): Date => {
    const hours = metrics.map((metric) => latest.find((row) => row.metric === metric)?.hour ?? oldest);
    return hours.reduce((a, b) => (a < b ? a : b));
  };
  const changes = Object.values(SUBSCRIPTION_EVENTS);
  await store(db, countSignUps(since("sign_ups")));
  await store(db, countSubscriptionEvents(since(...changes)));
  await store(db, countUpdateChecks(since("update_checks"), now));
  await store(db, countNotifications(since("notifications_sent", "notifications_failed")));
  await updateLevels(db, now);
  await db.hourlyStatistic.deleteMany({
    where: { hour: { gt: EPOCH, lt: new Date(now.getTime() - RETENTION_DAYS * DAY_MS) } },
  });
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
    WHERE last."value" <= ${at - minAgeMs}::bigint`;
  return claimed > 0;
}

/**
 * Counts what has no times to count by, and no index: one would cost a write for each minute of a session and for each
 * renewal. Reads two tables, of which a million rows take about a second, so it takes `LEVELS_TIME_SHARE` of the time.
 */
async function updateLevels(db: Deps["db"], now: Date): Promise<void> {
  const dueAt = { metric: LEVELS_DUE, hour: EPOCH };
  const due = await db.hourlyStatistic.findUnique({ where: { metric_hour: dueAt } });
  if (due && due.value > now.getTime()) return;
  const startedAt = performance.now();
  const levels = {
    active_accounts: await countActiveAccounts(db, now),
    active_subscriptions: await countActiveSubscriptions(db, now),
  };
  const hour = startOf(now, HOUR_MS);
  for (const [metric, value] of Object.entries(levels))
    await store(db, sql`VALUES (${metric}, ${hour}::timestamptz, ${value}::bigint)`);
  const waitMs = Math.round((performance.now() - startedAt) / LEVELS_TIME_SHARE);
  await store(db, sql`VALUES (${LEVELS_DUE}, ${EPOCH}::timestamptz, ${now.getTime() + waitMs}::bigint)`);
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
