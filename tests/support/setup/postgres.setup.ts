import type { TestProject } from "vitest/node";
import { applyMigrations } from "@/lib/db/migrations";
import { migrationAdapter } from "@/lib/db/open";
import { createDatabase, hasPostgres, startCluster } from "@/tests/support/process/postgres";

declare module "vitest" {
  interface ProvidedContext {
    /** The PostgreSQL server that the tests run on: TEST_DATABASE_URL, or a cluster of their own. */
    postgresUrl: string;
    /** The name of a migrated database on it, for tests to copy. */
    templateDatabase: string;
  }
}

/** Starts a PostgreSQL cluster unless TEST_DATABASE_URL names a server, and migrates one database that all tests copy. */
export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  const given = process.env.TEST_DATABASE_URL;
  if (!given && process.env.TEST_DATABASE !== "postgres" && !hasPostgres()) return;
  const cluster = given ? undefined : await startCluster();
  const server = given ?? cluster?.url ?? "";
  const template = await createDatabase(server);
  await applyMigrations(migrationAdapter(template));
  project.provide("postgresUrl", server);
  project.provide("templateDatabase", new URL(template).pathname.slice(1));
  return cluster?.remove;
}
