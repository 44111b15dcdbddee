import type { TestProject } from "vitest/node";
import { closeConnections, createDatabase, isPostgresInstalled, startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/platform/db/migrations";
import { migrationAdapter } from "@/lib/platform/db/server/adapter";
import { requirement } from "@/tests/support/requirements";

declare module "vitest" {
  interface ProvidedContext {
    /** The PostgreSQL server that the tests run on: TEST_DATABASE_URL, or a cluster started for them. */
    postgresUrl: string;
    /** The name of a migrated database on it, for tests to copy. */
    templateDatabase: string;
  }
}

/** Starts a PostgreSQL cluster unless TEST_DATABASE_URL names a server, and migrates one database that all tests copy. */
export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  const configuredUrl = process.env.TEST_DATABASE_URL;
  if (!configuredUrl && process.env.TEST_DATABASE !== "postgres" && !requirement("PostgreSQL", isPostgresInstalled()))
    return;
  const cluster = configuredUrl ? undefined : await startCluster();
  const server = configuredUrl ?? cluster?.url ?? "";
  const template = await createDatabase(server);
  await applyMigrations(migrationAdapter(template));
  await closeConnections(template); // the migration's pool keeps one
  project.provide("postgresUrl", server);
  project.provide("templateDatabase", new URL(template).pathname.slice(1));
  return cluster?.remove;
}
