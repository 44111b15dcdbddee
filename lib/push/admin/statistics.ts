import type { Context } from "../../context";
import { MAX_COUNTED } from "../../platform/lists";
import { QueuePriority } from "../notifications";
import type { Statistics, StatisticsQuery } from "./schema";

type Deps = Pick<Context, "db" | "dbNow">;

const HOUR_MS = 60 * 60 * 1000;
const PERIODS = {
  day: { unit: "hour", stepMs: HOUR_MS, steps: 24 },
  month: { unit: "day", stepMs: 24 * HOUR_MS, steps: 30 },
} as const;

type Row = { at: Date; state: "sent" | "failed" | "cancelled"; reason: string | null; count: number };

/** How many deliveries ended, by hour or by day in UTC and by reason, and how many that are due still wait. */
export async function readStatistics({ db, dbNow }: Deps, { period = "day" }: StatisticsQuery): Promise<Statistics> {
  const { unit, stepMs, steps } = PERIODS[period];
  const [clock] = await db.$queryRaw<
    { last: Date }[]
  >`SELECT date_trunc(${unit}, ${dbNow()}::timestamptz, 'UTC') AS "last"`;
  const last = clock?.last ?? new Date();
  const first = new Date(last.getTime() - (steps - 1) * stepMs);
  const rows = await db.$queryRaw<Row[]>`
    SELECT date_trunc(${unit}, "hour", 'UTC') AS "at", "state"::text, nullif("reason", '') AS "reason",
      sum("count")::int AS "count"
    FROM "PushOutcomeCount" WHERE "hour" >= ${first}::timestamptz GROUP BY 1, 2, 3`;
  const starts = Array.from({ length: steps }, (_, i) => new Date(first.getTime() + i * stepMs));
  const buckets = starts.map((at) => ({ at, ...totals(rows.filter((row) => row.at.getTime() === at.getTime())) }));
  return { buckets, outcomes: byReason(rows), queue: await readQueue({ db, dbNow }) };
}

function totals(rows: readonly Row[]) {
  const total = (of: Row["state"]) =>
    Math.max(
      0,
      rows.reduce((sum, { state, count }) => sum + (state === of ? count : 0), 0),
    );
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
