import { loadConfig } from "../../../lib/platform/config";
import { openDatabase } from "../../../lib/platform/db/open";
import { migrateServer } from "../../../lib/platform/db/server/migrate";

/**
 * Applies the pending migrations to DATABASE_URL, past a pooler, one process at a time; without it, to the embedded database.
 * Returns what was done, as a line.
 * @throws DataDirInUseError for the embedded database of a service that runs
 */
export async function migrateDatabase(say: (text: string) => void): Promise<string> {
  const config = loadConfig();
  const { DATABASE_URL, DATABASE_MIGRATE_URL = DATABASE_URL, DATA_DIR } = config;
  if (DATABASE_MIGRATE_URL === undefined || DATABASE_URL === undefined) {
    const onConnectionError = (error: Error) => {
      throw error;
    };
    await (await openDatabase(config, { onConnectionError })).close();
    return `The embedded database in ${DATA_DIR} is up to date.`;
  }
  const names = await migrateServer(DATABASE_MIGRATE_URL, say);
  return names.length > 0 ? `Applied: ${names.join(", ")}` : "No pending migrations.";
}
