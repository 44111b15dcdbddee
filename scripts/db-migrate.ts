import { existsSync } from "node:fs";
import { Client } from "pg";
import { loadConfig } from "../lib/config";
import { applyMigrations } from "../lib/db/migrations";
import { openDatabase, postgresAdapter } from "../lib/db/open";

/** Any number that nothing else on the server locks; Prisma's own is 72707369. */
const LOCK = 4_076_778;

/** Applies the migrations that are missing; on PostgreSQL one process at a time. */
if (existsSync(".env")) process.loadEnvFile(".env");
const config = loadConfig();
const report = (names: string[]) =>
  console.log(names.length > 0 ? `Applied: ${names.join(", ")}` : "Nothing to apply.");

if (config.DATABASE_URL) {
  const client = new Client({ connectionString: config.DATABASE_URL });
  await client.connect();
  await client.query("SELECT pg_advisory_lock($1)", [LOCK]);
  report(await applyMigrations(postgresAdapter(config.DATABASE_URL, 1, () => {})));
  await client.end();
} else {
  const give = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(config, { onConnectionError: give, onLockLost: give });
  await database.close();
  console.log(`The embedded database in ${config.DATA_DIR} is up to date.`);
}
process.exit();
