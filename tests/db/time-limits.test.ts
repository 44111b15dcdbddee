import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { type Database, databaseOf, openDatabase, serverParts } from "@/lib/platform/db/open";
import { postgresAdapter } from "@/lib/platform/db/server/adapter";
import { COMMAND_LIMITS, SERVICE_LIMITS } from "@/lib/platform/db/time-limits";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";

const LIMITS = { lockMs: 200, statementMs: 400, queryMs: 30_000, idleInTransactionMs: 400 };
const POOL_SIZE = 2;

let other: Client;
let limited: Database;
let account: TestAccount;

/** Runs with the limits above, on the test's own database. */
const withLimits = <T>(run: () => Promise<T>, change: Partial<Context> = {}): Promise<T> =>
  withContext({ ...change, db: limited.client }, run);
const logIn = () => post("/api/auth/login", { email: account.email, password: account.password });
const listDevices = () => get("/api/push/devices", { token: account.token });
const sessions = () => ctx().db.session.count({ where: { accountId: account.id, revokedAt: null } });

async function expectUnavailable(responding: Promise<Response>): Promise<void> {
  const response = await responding;
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(await response.json()).toMatchObject({ code: "unavailable" });
}

/** Makes every new session run SQL on the server. */
async function onNewSession(statement: string): Promise<void> {
  await other.query(`
    CREATE OR REPLACE FUNCTION on_new_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement}; RETURN NEW; END $$;
    CREATE OR REPLACE TRIGGER on_new_session BEFORE INSERT ON "Session" FOR EACH ROW EXECUTE FUNCTION on_new_session()`);
}

/** The service's connections that are in use, as the server sees them. */
async function busyConnections(): Promise<unknown[]> {
  const { rows } = await other.query(
    `SELECT state, query FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'homeport' AND state <> 'idle'`,
  );
  return rows;
}

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  beforeAll(async () => {
    const [{ name } = { name: "" }] = await ctx().db.$queryRaw<{ name: string }[]>`SELECT current_database() AS name`;
    const url = new URL(postgresUrl);
    url.pathname = `/${name}`;
    other = new Client({ connectionString: url.href });
    await other.connect();
    limited = databaseOf(
      postgresAdapter(url.href, POOL_SIZE, () => {}, LIMITS),
      serverParts(url.href),
      true,
    );
  });

  beforeEach(async () => {
    account = await newAccount();
  });

  afterAll(async () => {
    await other.query("DROP FUNCTION IF EXISTS on_new_session CASCADE");
    await Promise.all([limited.close(), other.end()]);
  });

  test("no statement is compiled, however many rows PostgreSQL expects: that would take longer than it runs", async () => {
    // 1,000 rows, of which PostgreSQL expects a billion
    const some = "generate_series(1, (SELECT 10))";
    const explain = `EXPLAIN (ANALYZE, TIMING OFF) SELECT count(*) FROM ${some} a, ${some} b, ${some} c`;
    const { rows } = await other.query<{ "QUERY PLAN": string }>(explain);
    expect(rows.map((row) => row["QUERY PLAN"])).toContain("JIT:");
    const plan = await limited.client.$queryRawUnsafe<typeof rows>(explain);
    expect(plan.map((row) => row["QUERY PLAN"])).not.toContain("JIT:");
  });

  // ASVS 15.4.3
  test("requests that wait for a locked table get 503, and later ones succeed", async () => {
    await other.query(`BEGIN; LOCK TABLE "PushDevice"`);
    await withLimits(async () => {
      await Promise.all(Array.from({ length: POOL_SIZE + 1 }, () => expectUnavailable(listDevices())));
      await other.query("COMMIT");
      expect((await listDevices()).status).toBe(200);
    });
    await expect.poll(busyConnections).toEqual([]);
  });

  // ASVS 13.2.6
  test("a statement that hangs is ended by the server: 503, and nothing of it is stored", async () => {
    await onNewSession("PERFORM pg_sleep(60)");
    await withLimits(async () => {
      await expectUnavailable(logIn());
      await expect.poll(busyConnections).toEqual([]);
      await onNewSession("NULL");
      expect(await sessions()).toBe(1);
      expect((await logIn()).status).toBe(200);
    });
  });

  test("a connection that is killed in the middle of a statement is replaced", async () => {
    await onNewSession("PERFORM pg_terminate_backend(pg_backend_pid())");
    await withLimits(async () => {
      for (let i = 0; i <= POOL_SIZE; i++) await expectUnavailable(logIn());
      await onNewSession("NULL");
      expect(await sessions()).toBe(1);
      expect((await logIn()).status).toBe(200);
    });
    await expect.poll(busyConnections).toEqual([]);
  });

  test("a transaction that becomes idle is ended by the server: 503, and it leaves nothing behind", async () => {
    const idle = async () => {
      await expect.poll(busyConnections).toEqual([]);
    };
    const signOut = () => post("/api/auth/signout", {}, { token: account.token });
    await withLimits(async () => expectUnavailable(signOut()), { removeDevices: idle });
    expect(await sessions()).toBe(1);
    await withLimits(async () => expect((await signOut()).status).toBe(200));
    expect(await sessions()).toBe(0);
    await expect.poll(busyConnections).toEqual([]);
  });

  test.each([
    ["service", SERVICE_LIMITS],
    ["command", COMMAND_LIMITS],
  ])(
    "the server's limits for a %s are shorter than the client's, whatever the database's settings",
    async (_, limits) => {
      const url = await createMigratedDatabase();
      const name = new URL(url).pathname.slice(1);
      await other.query(`ALTER DATABASE ${name} SET statement_timeout = '1h'`);
      const config = { ...ctx().config, DATABASE_URL: url, DATABASE_POOL_SIZE: 1 };
      const database = await openDatabase(config, { onConnectionError: () => {} }, limits);
      const rows = await database.client.$queryRaw<{ name: string; ms: number }[]>`
      SELECT name, setting::integer AS ms FROM pg_settings WHERE name LIKE '%\_timeout' AND setting::integer > 0`;
      await database.close();
      const ms = Object.fromEntries(rows.map((row) => [row.name, row.ms]));
      const { lock_timeout = 0, statement_timeout = 0, idle_in_transaction_session_timeout = 0 } = ms;
      expect(lock_timeout).toBeGreaterThan(0);
      expect(statement_timeout).toBeGreaterThan(lock_timeout);
      expect(limits.queryMs).toBeGreaterThan(statement_timeout);
      expect(idle_in_transaction_session_timeout).toBe(limits.idleInTransactionMs);
    },
  );
});
