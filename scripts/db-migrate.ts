import { type Config, loadConfig } from "../lib/config";
import { openDatabase } from "../lib/db/open";
import { migrateServer } from "../lib/db/server-migrations";
import { refuseArguments, runCommandLine } from "./command-line";

const HELP = `Usage: npm run db:migrate

Applies the migrations that are missing: to DATABASE_URL's database, at any time and from several machines at once; else to
the embedded database in DATA_DIR, while the service is stopped (it applies them at each start by itself).`;

/** Applies the migrations that are missing; on PostgreSQL one process at a time. */
async function main(args: string[]): Promise<void> {
  refuseArguments(args);
  const config = loadConfig();
  if (!config.DATABASE_URL) return await migrateEmbedded(config);
  const names = await migrateServer(config.DATABASE_URL, console.log);
  console.log(names.length > 0 ? `Applied: ${names.join(", ")}` : "Nothing to apply.");
}

async function migrateEmbedded(config: Config): Promise<void> {
  const give = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(config, { onConnectionError: give });
  await database.close();
  console.log(`The embedded database in ${config.DATA_DIR} is up to date.`);
}

runCommandLine(HELP, main).finally(() => process.exit());
