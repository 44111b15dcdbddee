import { Client } from "pg";
import { type Config, loadConfig } from "../lib/config";
import { applyMigrations } from "../lib/db/migrations";
import { migrationAdapter, openDatabase } from "../lib/db/open";
import { refuseArguments, runCommandLine } from "./command-line";

const HELP = `Usage: npm run db:migrate

Applies the migrations that are missing: to DATABASE_URL's database, at any time and from several machines at once; else to
the embedded database in DATA_DIR, while the service is stopped (it applies them at each start by itself).`;

/** Any number that nothing else on the server locks; Prisma's own is 72707369. */
const LOCK = 4_076_778;

/** Applies the migrations that are missing; on PostgreSQL one process at a time. */
async function main(args: string[]): Promise<void> {
  refuseArguments(args);
  const config = loadConfig();
  if (config.DATABASE_URL) await migrateServer(config.DATABASE_URL);
  else await migrateEmbedded(config);
}

async function migrateServer(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("SELECT pg_advisory_lock($1)", [LOCK]);
  const names = await applyMigrations(migrationAdapter(url));
  await client.end();
  console.log(names.length > 0 ? `Applied: ${names.join(", ")}` : "Nothing to apply.");
}

async function migrateEmbedded(config: Config): Promise<void> {
  const give = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(config, { onConnectionError: give, onLockLost: give });
  await database.close();
  console.log(`The embedded database in ${config.DATA_DIR} is up to date.`);
}

runCommandLine(HELP, main).finally(() => process.exit());
