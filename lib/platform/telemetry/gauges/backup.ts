import type { Registry } from "prom-client";
import type { Context } from "../../../context";
import { createDatabaseGauges } from "./database-gauges";

const GAUGES = {
  homeport_backup_last_success_timestamp_seconds: "When the last successful backup ended. No value: there is none.",
};

/** Creates the gauges of backups, and returns the function that updates those from the database. */
export function createBackupGauges(
  prom: typeof import("prom-client"),
  registry: Registry,
  { database, db }: Pick<Context, "database" | "db">,
): () => Promise<void> {
  new prom.Gauge({
    name: "homeport_database_writes_paused",
    help: "1 while writes wait, because the embedded database is being copied.",
    registers: [registry],
    collect() {
      this.set(database.embedded?.isPaused() ? 1 : 0);
    },
  });
  return createDatabaseGauges(prom, registry, GAUGES, async () => {
    const { _max: last } = await db.backup.aggregate({ where: { error: null }, _max: { endedAt: true } });
    return last.endedAt ? { homeport_backup_last_success_timestamp_seconds: last.endedAt.getTime() / 1000 } : undefined;
  });
}
