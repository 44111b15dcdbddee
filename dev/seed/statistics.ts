import type { PrismaClient } from "../../lib/platform/db/generated/client";
import { DAY_MS, HOUR_MS, startOf } from "../../lib/platform/statistics";
import { ACCOUNT_DAYS, SEEN_DAYS } from "./account";
import type { Random } from "./random";
import type { Rows } from "./rows";

const DAYS = 35;
/** From one hour to another, without a reason. */
const NOISE = 0.04;

/**
 * Stores what the service would have counted in the past, hour by hour, and cannot count later: how many accounts were
 * active, how many subscriptions there were, and the update checks until then. The service counts the rest from the rows.
 */
export async function addStatistics(
  { db, now }: { db: PrismaClient; now: Date },
  rows: Rows,
  random: Random,
  accounts: number,
): Promise<void> {
  await db.hourlyStatistic.deleteMany();
  const today = startOf(now, DAY_MS);
  const oldest = new Date(today.getTime() - DAYS * DAY_MS);
  for (let at = oldest.getTime(); at + HOUR_MS <= now.getTime(); at += HOUR_MS) {
    rows.add("HourlyStatistic", {
      metric: "active_accounts",
      hour: new Date(at),
      value: activeAccounts(random, accounts, at, now),
    });
  }
  await rows.insert(db);
  await db.$executeRaw`
    WITH change AS (
      SELECT "startedAt" AS "at", 1 AS "by" FROM "Purchase"
      UNION ALL SELECT coalesce("endedAt", "currentPeriodEndsAt"), -1 FROM "Purchase"
    )
    INSERT INTO "HourlyStatistic" ("metric", "hour", "value")
    SELECT 'active_subscriptions', hour, sum(coalesce(sum(change."by"), 0)) OVER (ORDER BY hour)
    FROM generate_series(${oldest}::timestamptz, ${now}::timestamptz - interval '1 hour', interval '1 hour') AS hour
    LEFT JOIN change ON greatest(date_trunc('hour', change."at", 'UTC'), ${oldest}::timestamptz) = hour GROUP BY hour`;
  await db.$executeRaw`
    INSERT INTO "HourlyStatistic" ("metric", "hour", "value")
    SELECT 'update_checks', counted.hour, counted."checks" * (extract(hour FROM counted.hour AT TIME ZONE 'UTC') + 1) / 24
    FROM (
      SELECT "day"::timestamp AT TIME ZONE 'UTC' + n * interval '1 hour' AS hour, sum("checks") AS "checks"
      FROM "AdoptionCount" CROSS JOIN generate_series(0, 23) AS n
      WHERE "day" >= ${oldest}::timestamptz AND "day" < ${today}::timestamptz GROUP BY 1
    ) AS counted`;
}

/** Accounts that were seen since midnight, as `addAccount` draws when they are seen. */
function activeAccounts(random: Random, accounts: number, at: number, now: Date): number {
  const existing = accounts * (1 - (now.getTime() - at) / DAY_MS / ACCOUNT_DAYS);
  const sinceMidnight = ((at % DAY_MS) + HOUR_MS) / DAY_MS;
  return Math.round(existing * Math.cbrt(sinceMidnight / SEEN_DAYS) * (1 + NOISE * (random.next() - 0.5)));
}
