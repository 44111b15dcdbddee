import { Client } from "pg";
import { beforeEach, describe, expect, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { migrationNames } from "@/lib/platform/db/migrations";
import { migrateServer } from "@/lib/platform/db/server/migrate";
import { postgresUrl } from "@/tests/support/database";
import { startCommand } from "@/tests/support/process/command";

const STUCK = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  let url: string;
  let other: Client;

  beforeEach(async () => {
    url = await createDatabase(postgresUrl);
    other = new Client({ connectionString: url });
    await other.connect();
    return () => other.end();
  });

  /** Kills `npm run db:migrate` while the server is at work on a migration, for as long as `gate` has a row. */
  async function killWhileMigrating(): Promise<void> {
    await other.query(`CREATE SCHEMA test; CREATE TABLE test.gate AS SELECT 1; CREATE FUNCTION test.wait() RETURNS event_trigger LANGUAGE plpgsql AS
      'BEGIN WHILE EXISTS (SELECT FROM test.gate) LOOP PERFORM pg_sleep(0.02); END LOOP; END';
      CREATE EVENT TRIGGER wait ON ddl_command_end WHEN TAG IN ('CREATE TYPE') EXECUTE FUNCTION test.wait()`);
    const env = { DATABASE_URL: url, NEXTAUTH_URL: "http://localhost:3000", NEXTAUTH_SECRET: "x".repeat(32) };
    const { child, ended } = startCommand("db:migrate", [], env);
    await expect.poll(async () => (await other.query(STUCK)).rows).toHaveLength(1);
    child.kill("SIGKILL");
    await ended;
  }

  const records = async () =>
    (await other.query(`SELECT "migration_name" AS name, "rolled_back_at" IS NULL AS applied FROM "_prisma_migrations"
      WHERE "finished_at" IS NOT NULL OR "rolled_back_at" IS NOT NULL ORDER BY "started_at"`)) as {
      rows: { name: string; applied: boolean }[];
    };

  test("a migration that the server commits after its client was killed counts as applied", async () => {
    await killWhileMigrating();
    const reported: string[] = [];
    const again = migrateServer(url, (line) => reported.push(line));
    await expect.poll(() => reported).toHaveLength(1);
    expect(reported[0]).toMatch(/^Waiting for .*: server process \d+ \(homeport-migrate .*, runs --/);
    await other.query("DELETE FROM test.gate");
    const applied = await again;
    expect(applied.length).toBeLessThan((await migrationNames()).length);
    const names = (await migrationNames()).map((name) => ({ name, applied: true }));
    expect((await records()).rows).toEqual(names);
  });

  test("a migration that ends with its client is tried again by the same command", async () => {
    await killWhileMigrating();
    await other.query(`SELECT pg_terminate_backend(pid) FROM (${STUCK}) AS stuck`);
    await other.query("DELETE FROM test.gate");
    const reported: string[] = [];
    const applied = await migrateServer(url, (line) => reported.push(line));
    expect(reported.at(-1)).toBe(`${applied[0]} was interrupted and rolled back: retrying it.`);
    expect((await records()).rows.filter((row) => row.applied).map(({ name }) => name)).toEqual(await migrationNames());
  });

  test("the wait for another migration is bounded, and says what holds it", async () => {
    await other.query("SET application_name = 'somebody'; SELECT pg_advisory_lock(4076778)");
    const { rows } = await other.query("SELECT pg_backend_pid() AS pid");
    const reported: string[] = [];
    await expect(migrateServer(url, (line) => reported.push(line), { maxWaitMs: 100 })).rejects.toThrow(
      `another migration is still running: server process ${rows[0].pid} (somebody from 127.0.0.1, since`,
    );
    expect(reported).toEqual([expect.stringContaining(`server process ${rows[0].pid} (somebody`)]);
    expect((await other.query(`SELECT to_regclass('"Account"') AS "table"`)).rows).toEqual([{ table: null }]);
  });
});
