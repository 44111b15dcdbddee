import { Client } from "pg";
import { applyMigrations } from "./migrations";
import { migrationAdapter, withSession } from "./open";

/** Held by whoever migrates, for as long as its process lives. Any number that nothing else on the server locks. */
const LOCK = 4_076_778;
/** Prisma's own, held by the connection that runs the scripts: it outlives a client that was killed. */
const ENGINE_LOCK = 72_707_369;
const MAX_WAIT_MS = 60_000;

/**
 * Finishes the record of the one migration under way, in its script's own transaction: whatever is interrupted leaves
 * both or neither.
 */
const RECORD = `
; UPDATE "_prisma_migrations" SET "finished_at" = now() WHERE "finished_at" IS NULL AND "rolled_back_at" IS NULL`;

/**
 * Applies to a PostgreSQL server what is missing, one process at a time, and retries a migration that was interrupted.
 * Waits for another process at most `maxWaitMs`, and reports with `report` what it waits for. Returns the names of the
 * migrations applied.
 * @throws Error with what holds the lock, or with what the database refused.
 */
export async function migrateServer(
  url: string,
  report: (line: string) => void,
  maxWaitMs = MAX_WAIT_MS,
): Promise<string[]> {
  const client = new Client({
    connectionString: withSession(url, { lock_timeout: maxWaitMs, statement_timeout: 0, idle_session_timeout: 0 }),
    keepAlive: true,
    application_name: "homeport-migrate-lock",
  });
  client.on("error", () => {}); // a lost server is an error of the migration's own connection too
  await client.connect();
  try {
    await lock(client, LOCK, report);
    await lock(client, ENGINE_LOCK, report);
    await client.query("SELECT pg_advisory_unlock($1)", [ENGINE_LOCK]);
    await rollBackInterrupted(client, report);
    return await applyMigrations(migrationAdapter(url, RECORD));
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
      `another migration still runs: ${await holderOf(client, key)}. Try again after it; to end it, pg_terminate_backend.`,
    );
  }
}

/** The server process that holds an advisory lock, in words (PostgreSQL 17, 52.12 and 27.2.3). */
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

/** A record that neither finished nor was rolled back is of a script that was interrupted: nothing of it is left. */
async function rollBackInterrupted(client: Client, report: (line: string) => void): Promise<void> {
  const { rows: tables } = await client.query(`SELECT to_regclass('"_prisma_migrations"') AS "table"`);
  if (tables[0].table === null) return;
  const { rows } = await client.query(
    `UPDATE "_prisma_migrations" SET "rolled_back_at" = now()
      WHERE "finished_at" IS NULL AND "rolled_back_at" IS NULL RETURNING "migration_name" AS name`,
  );
  for (const { name } of rows) report(`${name} was interrupted, and nothing of it is left: trying again.`);
}
