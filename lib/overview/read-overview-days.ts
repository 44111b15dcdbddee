import type { Context } from "../context";
import { DAY_MS, lastCountedAt, METRICS, type Metric, startOf } from "../platform/statistics";

/** Two weeks, so that the same day of last week is among them. */
const DAYS = 14;

export type OverviewDays = Awaited<ReturnType<typeof readOverviewDays>>;

/** The values of a metric. null: it was not counted then. */
export type MetricDays = {
  /** So far today, and a week ago up to the same hour. */
  today: number | null;
  weekAgo: number | null;
  /** One for each day, the oldest first, today last. */
  days: (number | null)[];
};

/** Reads the statistics of the last days, today included, and when they were counted. */
export async function readOverviewDays({ db, now }: Pick<Context, "db" | "now">, count = DAYS) {
  const at = now().getTime();
  const today = startOf(now(), DAY_MS).getTime();
  const starts = Array.from({ length: count }, (_, i) => today - (count - 1 - i) * DAY_MS);
  const countedAt = await lastCountedAt({ db });
  const rows = await db.hourlyStatistic.findMany({
    where: { metric: { in: Object.keys(METRICS) }, hour: { gte: new Date(starts[0] ?? today) } },
    orderBy: { hour: "asc" },
  });
  const entries = Object.keys(METRICS).map((name) => {
    const metric = name as Metric;
    const own = rows.filter((row) => row.metric === metric);
    const read = (from: number, to: number) => (countedAt ? combine(metric, own, from, to) : null);
    const days: MetricDays = {
      today: read(today, at),
      weekAgo: read(today - 7 * DAY_MS, at - 7 * DAY_MS),
      days: starts.map((start) => read(start, start + DAY_MS - 1)),
    };
    return [metric, days] as const;
  });
  const dates = starts.map((start) => new Date(start));
  return { countedAt, dates, metrics: Object.fromEntries(entries) as Record<Metric, MetricDays> };
}

/** The value of a metric for the hours from `from` to `to`, in milliseconds. An hour without events has no row. */
function combine(
  metric: Metric,
  rows: readonly { hour: Date; value: bigint }[],
  from: number,
  to: number,
): number | null {
  const values = rows
    .filter(({ hour }) => hour.getTime() >= from && hour.getTime() <= to)
    .map(({ value }) => Number(value));
  return METRICS[metric] === "events" ? values.reduce((sum, value) => sum + value, 0) : (values.at(-1) ?? null);
}
