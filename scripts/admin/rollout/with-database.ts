import type { Config } from "../../../lib/config";
import { COMMAND } from "../../../lib/db/limits";
import { type Database, openDatabase } from "../../../lib/db/open";

/**
 * Runs a command on the service's database. @throws Error if its migrations are missing, or the embedded database is in use
 */
export async function withDatabase<T>(config: Config, run: (db: Database["client"]) => Promise<T>): Promise<T> {
  const onConnectionError = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(config, { onConnectionError }, COMMAND);
  try {
    if (!(await database.migrated())) throw new Error("Migrations are missing: run `npm run db:migrate` first.");
    return await run(database.client);
  } finally {
    await database.close();
  }
}
