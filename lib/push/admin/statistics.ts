import type { Context } from "../../context";
import { readDatabaseTime } from "../../platform/db/clock";
import type { PushDeliveryState } from "../../platform/db/generated/client";
import { MAX_COUNTED } from "../../platform/lists";
import { QueuePriority } from "../notifications";
import type { Statistics, StatisticsQuery } from "./schema";

type Deps = Pick<Context, "db" | "dbNow">;

const HOUR_MS = 60 * 60 * 1000;
const PERIODS = { day: { stepMs: HOUR_MS, steps: 24 }, month: { stepMs: 24 * HOUR_MS, steps: 30 } };

type Row = { at: number; state: PushDeliveryState; reason: string | null; count: number };

/** How many deliveries ended, by hour or by day in UTC and by reason, and how many that are due still wait. */
export async function readStatistics({ db, dbNow }: Deps, { period = "day" }: StatisticsQuery): Promise<Statistics> {
  const { stepMs, steps } = PERIODS[period];
  const startOf = (time: Date) => Math.floor(time.getTime() / stepMs) * stepMs;
  const first = startOf(await readDatabaseTime({ db, dbNow })) - (steps - 1) * stepMs;
  const counts = await db.pushOutcomeCount.groupBy({
    by: ["hour", "state", "reason"],
    where: { hour: { gte: new Date(first) } },
    _sum: { count: true },
  });
  const rows = counts.map(({ hour, state, reason, _sum }): Row => {
    return { at: startOf(hour), state, reason: reason || null, count: _sum.count ?? 0 };
  });
  const starts = Array.from({ length: steps }, (_, i) => first + i * stepMs);
  const buckets = starts.map((at) => ({ at: new Date(at), ...totals(rows.filter((row) => row.at === at)) }));
  return { buckets, outcomes: byReason(rows), queue: await readQueue({ db, dbNow }) };
}

function totals(rows: readonly Row[]) {
  const total = (of: Row["state"]) => {
    const counted = rows.reduce((sum, { state, count }) => sum + (state === of ? count : 0), 0);
    return Math.max(0, counted);
  };
  return { sent: total("sent"), failed: total("failed"), cancelled: total("cancelled") };
}

function byReason(rows: readonly Row[]): Statistics["outcomes"] {
  const groups = new Map<string, Statistics["outcomes"][number]>();
  for (const { state, reason, count } of rows) {
    const key = `${state} ${reason}`;
    groups.set(key, { state, reason, count: count + (groups.get(key)?.count ?? 0) });
  }
  return [...groups.values()].filter(({ count }) => count > 0).toSorted((a, b) => b.count - a.count);
}

async function readQueue({ db, dbNow }: Deps): Promise<Statistics["queue"]> {
  const [queue] = await db.$queryRaw<Statistics["queue"][]>`
    SELECT count(*)::int AS "due", min("nextAttemptAt") AS "oldestDueAt" FROM (
      SELECT due."nextAttemptAt" FROM unnest(${Object.values(QueuePriority)}::smallint[]) AS class("priority")
      CROSS JOIN LATERAL (
        SELECT "nextAttemptAt" FROM "QueuedPush"
        WHERE "leaseUntil" IS NULL AND "queuePriority" = class."priority" AND "nextAttemptAt" <= ${dbNow()}
        ORDER BY "nextAttemptAt" LIMIT ${MAX_COUNTED}
      ) AS due
      LIMIT ${MAX_COUNTED}
    ) AS due`;
  return queue ?? { due: 0, oldestDueAt: null };
}
