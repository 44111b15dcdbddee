import { readDays } from "../platform/statistics/read-days";

/** Two weeks, so that the same day of last week is among them. */
const DAYS = 14;

export type OverviewDays = Awaited<ReturnType<typeof readDays>>;

/** Reads the figures of the overview. */
export function readOverviewDays(deps: Parameters<typeof readDays>[0]): Promise<OverviewDays> {
  return readDays(deps, DAYS);
}
