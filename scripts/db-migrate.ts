import { assertNoArguments, runCommandLine } from "./command-line";
import { migrateDatabase } from "./homeport/commands/db-migrate";

const HELP = `Usage: npm run db:migrate

Applies the pending migrations. With DATABASE_URL, migrates that database. Safe to run at any time and from several
machines. Uses DATABASE_MIGRATE_URL if it is set, because migrations cannot run through PgBouncer. Without DATABASE_URL,
migrates the embedded database in DATA_DIR: stop the service first. The service also applies migrations when it
starts.`;

/** `homeport db migrate`, for those who do not have it on the PATH. */
async function main(args: string[]): Promise<void> {
  assertNoArguments(args);
  console.log(await migrateDatabase(console.log));
}

runCommandLine(HELP, main).finally(() => process.exit());
