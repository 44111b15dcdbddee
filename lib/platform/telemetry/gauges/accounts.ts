import type { Registry } from "prom-client";
import type { Context } from "../../../context";
import { firstIdAt } from "../../db/ids";
import { createDatabaseGauges, MAX_COUNTED_ROWS } from "./database-gauges";

type Deps = Pick<Context, "db" | "now">;

const HOUR_MS = 60 * 60 * 1000;

const GAUGES = {
  homeport_accounts_created_last_hour: `Accounts created in the last hour, at most ${MAX_COUNTED_ROWS}.`,
};

/** Creates the gauges of accounts, and returns the function that updates them. */
export function createAccountGauges(prom: typeof import("prom-client"), registry: Registry, { db, now }: Deps) {
  return createDatabaseGauges(prom, registry, GAUGES, async () => {
    const since = firstIdAt(new Date(now().getTime() - HOUR_MS)); // ids sort by time
    const [row] = await db.$queryRaw<Record<keyof typeof GAUGES, number>[]>`
      SELECT (SELECT count(*)::int FROM (
        SELECT 1 FROM "Account" WHERE "id" >= ${since}::uuid LIMIT ${MAX_COUNTED_ROWS}
      ) AS counted) AS homeport_accounts_created_last_hour`;
    return row;
  });
}
