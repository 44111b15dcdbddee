import type { Registry } from "prom-client";
import type { Context } from "../../context";
import { createDatabaseGauges } from "./database-gauges";

const GAUGES = {
  homeport_backup_last_success_timestamp_seconds: "When the last successful backup ended. No value: there is none.",
};

/** Creates the gauge of backups, and returns the function that updates it. */
export function createBackupGauges(
  prom: typeof import("prom-client"),
  registry: Registry,
  { db }: Pick<Context, "db">,
): () => Promise<void> {
  return createDatabaseGauges(prom, registry, GAUGES, async () => {
    const { _max: last } = await db.backup.aggregate({ where: { error: null }, _max: { endedAt: true } });
    return last.endedAt ? { homeport_backup_last_success_timestamp_seconds: last.endedAt.getTime() / 1000 } : undefined;
  });
}
