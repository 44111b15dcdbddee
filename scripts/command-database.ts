import { CommandError } from "../lib/errors";
import type { Config } from "../lib/platform/config";
import { type Database, openDatabase } from "../lib/platform/db/open";
import { COMMAND_LIMITS } from "../lib/platform/db/time-limits";

/** Opens the database for a command. @throws DataDirInUseError; CommandError if migrations are missing */
export async function openCommandDatabase(config: Config): Promise<Database> {
  // A query on a connection that breaks fails by itself, and the next one opens another connection.
  const database = await openDatabase(config, { onConnectionError: () => {} }, COMMAND_LIMITS);
  try {
    await requireMigrated(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function requireMigrated(database: Database): Promise<void> {
  if (await database.migrated()) return;
  throw new CommandError("migrations_missing", "Migrations are missing: run `homeport db migrate` first.");
}
