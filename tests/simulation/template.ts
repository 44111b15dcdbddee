import path from "node:path";
import { Client } from "pg";
import { closeConnections, createDatabase } from "@/dev/postgres";
import { openEmbedded } from "@/lib/platform/db/embedded/open";
import { applyMigrations } from "@/lib/platform/db/migrations";
import { migrationAdapter } from "@/lib/platform/db/server/adapter";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";

/** Migrates the database that each seed copies, and writes the sample catalog. `sql` changes it on purpose. */
export async function createTemplate(folder: string, sql?: string): Promise<void> {
  const { migrate, copySession, close } = await openEmbedded(folder, true, { isMigrated: true });
  await migrate();
  if (sql) await copySession.exec(sql);
  await close();
  await writeSampleCatalog(path.join(folder, "releases", "catalog.json"));
}

/** The simulation's clock is the server's, too: its functions come before PostgreSQL's own in `search_path`. */
const CLOCK = `
  CREATE SEQUENCE public.simulated_ms;
  CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz STABLE PARALLEL SAFE LANGUAGE sql
    AS 'SELECT to_timestamp(last_value / 1000.0) FROM public.simulated_ms';
  CREATE FUNCTION public.now() RETURNS timestamptz STABLE PARALLEL SAFE LANGUAGE sql
    AS 'SELECT public.statement_timestamp()';
  DO $$ DECLARE of record; BEGIN
    FOR of IN SELECT adrelid::regclass AS name, attname, pg_get_expr(adbin, adrelid) AS given
      FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
      WHERE pg_get_expr(adbin, adrelid) ~ 'now\\(\\)|CURRENT_TIMESTAMP'
    LOOP
      EXECUTE format('ALTER TABLE %s ALTER %I SET DEFAULT %s', of.name, of.attname,
        regexp_replace(of.given, 'now\\(\\)|CURRENT_TIMESTAMP', 'public.now()'));
    END LOOP;
  END $$`;

/** The same on a PostgreSQL server. `sql` changes it on purpose. Returns its name. */
export async function createServerTemplate(server: string, sql = ""): Promise<string> {
  const url = await createDatabase(server);
  await applyMigrations(migrationAdapter(url));
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`${CLOCK}; ${sql}`);
  await client.end();
  await closeConnections(url);
  return new URL(url).pathname.slice(1);
}
