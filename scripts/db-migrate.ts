import { type Config, loadConfig } from "../lib/platform/config";
import { openDatabase } from "../lib/platform/db/open";
import { migrateServer } from "../lib/platform/db/server/migrate";
import { assertNoArguments, runCommandLine } from "./command-line";

const HELP = `Usage: npm run db:migrate

Applies the pending migrations. With DATABASE_URL, migrates that database. Safe to run at any time and from several
machines. Uses DATABASE_MIGRATE_URL if it is set, because migrations cannot run through PgBouncer. Without DATABASE_URL,
migrates the embedded database in DATA_DIR: stop the service first. The service also applies migrations when it
starts.`;

/** Applies the pending migrations; on PostgreSQL, one process at a time. */
async function main(args: string[]): Promise<void> {
  assertNoArguments(args);
  const config = loadConfig();
  if (!config.DATABASE_URL) return await migrateEmbedded(config);
  const names = await migrateServer(config.DATABASE_MIGRATE_URL ?? config.DATABASE_URL, console.log);
  console.log(names.length > 0 ? `Applied: ${names.join(", ")}` : "No pending migrations.");
}

async function migrateEmbedded(config: Config): Promise<void> {
  const rethrow = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(config, { onConnectionError: rethrow });
  await database.close();
  console.log(`The embedded database in ${config.DATA_DIR} is up to date.`);
}

runCommandLine(HELP, main).finally(() => process.exit());
