import { existsSync } from "node:fs";
import path from "node:path";
import { listRollouts, type RolloutState } from "../../../lib/admin/releases/rollouts/list-rollouts";
import { loadConfig } from "../../../lib/config";
import { withDatabase } from "./with-database";

/**
 * The schedules of rollouts by release id, for a list of releases. Without a database there are none; if it is not
 * available, says so on standard error.
 */
export async function readRollouts(): Promise<Map<string, RolloutState>> {
  const config = loadConfig();
  const hasDatabase = config.mode === "server" || existsSync(path.join(config.DATA_DIR, "db"));
  if (!hasDatabase) return new Map();
  try {
    const rollouts = await withDatabase(config, (db) => listRollouts({ db }));
    return new Map(rollouts.flatMap((rollout) => rollout.releaseIds.map((id) => [id, rollout] as const)));
  } catch (error) {
    console.error(`Scheduled rollouts are not shown: ${(error as Error).message}`);
    return new Map();
  }
}
