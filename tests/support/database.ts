import { randomUUID } from "node:crypto";
import { cp } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { Client } from "pg";
import { inject } from "vitest";
import { embeddedAdapter } from "@/lib/db/embedded/adapter";
import { applyMigrations } from "@/lib/db/migrations";
import { type Database, migrationAdapter, postgresAdapter, wrap } from "@/lib/db/open";

/** A worker's own database: a copy of the migrated PGlite, or a new one on TEST_DATABASE_URL's server. */
export async function openTestDatabase(folder: string): Promise<Database> {
  const server = process.env.TEST_DATABASE_URL;
  if (server) return openOnServer(server);
  const dataDir = path.join(folder, "db");
  await cp(inject("templateDir"), dataDir, { recursive: true });
  const pglite = await PGlite.create({ dataDir });
  return wrap(await embeddedAdapter(pglite), () => pglite.close(), true);
}

async function openOnServer(server: string): Promise<Database> {
  const url = await createDatabase(server);
  await applyMigrations(migrationAdapter(url));
  return wrap(
    postgresAdapter(url, 5, () => {}),
    async () => {},
    true,
  );
}

/** Creates an empty database on a PostgreSQL server. Returns its URL. */
export async function createDatabase(server: string): Promise<string> {
  const name = `homeport_test_${randomUUID().replaceAll("-", "")}`;
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
