import { Client } from "pg";
import { hostUrls } from "../../config/database";
import { applyMigrations } from "../migrations";
import { migrationAdapter, withSession } from "./adapter";
import { findHost } from "./hosts";

/** The key of this command's advisory lock, held while its process runs. No other program may lock this number. */
const LOCK = 4_076_778;
/** The key of the schema engine's advisory lock. Its connection runs the scripts and can outlive a killed client. */
const ENGINE_LOCK = 72_707_369;
const MAX_WAIT_MS = 60_000;

/**
 * Marks the running migration as finished in the same transaction as its script, so that an interruption leaves both or
 * neither.
 */
const RECORD = `
; UPDATE "_prisma_migrations" SET "finished_at" = now() WHERE "finished_at" IS NULL AND "rolled_back_at" IS NULL`;

/**
 * Applies the pending migrations, or those among `names`, to a PostgreSQL server, one process at a time, and retries an
 * interrupted migration. The connection must be PostgreSQL's own: PgBouncer in transaction mode would lose the lock. Waits
 * at most `maxWaitMs` for another process, which it describes with `report`. Returns the names of the applied
 * migrations.
 * @throws Error that describes the process that holds the lock, or the migration that failed
 */
export async function migrateServer(
  url: string,
  report: (line: string) => void,
  { maxWaitMs = MAX_WAIT_MS, names }: { maxWaitMs?: number; names?: readonly string[] } = {},
): Promise<string[]> {
  const target = await findHost(hostUrls(url), "read-write");
  const client = new Client({
    connectionString: withSession(target, { lock_timeout: maxWaitMs, statement_timeout: 0, idle_session_timeout: 0 }),
    keepAlive: true,
    application_name: "homeport-migrate-lock",
  });
  client.on("error", () => {}); // the migration's connection reports a lost server
  await client.connect();
  try {
    await lock(client, LOCK, report);
    await lock(client, ENGINE_LOCK, report);
    await client.query("SELECT pg_advisory_unlock($1)", [ENGINE_LOCK]);
    await rollBackInterrupted(client, report);
    return await applyMigrations(migrationAdapter(target, RECORD), names);
  } finally {
    await client.end();
  }
}

async function lock(client: Client, key: number, report: (line: string) => void): Promise<void> {
  const { rows } = await client.query("SELECT pg_try_advisory_lock($1) AS taken", [key]);
  if (rows[0].taken) return;
  report(`Waiting for another migration: ${await holderOf(client, key)}.`);
  try {
    await client.query("SELECT pg_advisory_lock($1)", [key]);
  } catch (error) {
    if ((error as { code?: string }).code !== "55P03") throw error;
    throw new Error(
      `another migration is still running: ${await holderOf(client, key)}. Retry later, or end it with pg_terminate_backend.`,
    );
  }
}

/** Describes the server process that holds an advisory lock (PostgreSQL 17, 52.12 and 27.2.3). */
async function holderOf(client: Client, key: number): Promise<string> {
  const { rows } = await client.query(
    `SELECT pid, application_name AS name, host(client_addr) AS host, backend_start AS since, state, query
      FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = $1::oid AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [key],
  );
  if (rows.length === 0) return "it has just ended";
  const [{ pid, name, host, since, state, query }] = rows;
  const what = state === "active" ? `, runs ${String(query).trim().split("\n")[0]}` : "";
  return `server process ${pid} (${name} from ${host ?? "this machine"}, since ${since.toISOString()}${what})`;
}

/**
 * Marks interrupted migrations as rolled back. Their records are neither finished nor rolled back, and the server has
 * rolled back their scripts.
 */
async function rollBackInterrupted(client: Client, report: (line: string) => void): Promise<void> {
  const { rows: tables } = await client.query(`SELECT to_regclass('"_prisma_migrations"') AS "table"`);
  if (tables[0].table === null) return;
  const { rows } = await client.query(
    `UPDATE "_prisma_migrations" SET "rolled_back_at" = now()
      WHERE "finished_at" IS NULL AND "rolled_back_at" IS NULL RETURNING "migration_name" AS name`,
  );
  for (const { name } of rows) report(`${name} was interrupted and rolled back: retrying it.`);
}
