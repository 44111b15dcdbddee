import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { type Cluster, createDatabase, startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/db/migrations";
import { type Database, databaseOf, serverParts } from "@/lib/db/open";
import { migrationAdapter, postgresAdapter } from "@/lib/db/server/adapter";
import { openReplica } from "@/lib/db/server/replica";
import { findMissingSettings } from "@/lib/db/server/session";
import { SERVICE_LIMITS } from "@/lib/db/time-limits";
import { billingEvent, deliverTo } from "@/tests/support/billing/billing";
import { postgresUrl } from "@/tests/support/database";
import { startPgBouncer } from "@/tests/support/network/pgbouncer";
import { runCommand } from "@/tests/support/process/command";
import { type Service, startForTest } from "@/tests/support/process/service";
import { hasCommands } from "@/tests/support/requirements";

const SERVER = { NEXTAUTH_URL: "http://localhost:3000", NEXTAUTH_SECRET: "x".repeat(32), RATE_LIMITS: "off" };
const POLL = { timeout: 30_000, interval: 100 };
/** More than a replica may lag. */
const LAG_MS = 6_000;
/** What reads from the replica, for an API key. */
const PATHS = ["audit", "audit.csv", "releases/adoption", "push/statistics"].map((path) => `/api/admin/${path}`);

const health = async (service: Service) => (await service.fetch("/api/health")).status;

/** Registers an account and signs in. Resolves to both statuses. */
async function registerAndLogIn(service: Service): Promise<number[]> {
  const body = JSON.stringify({ email: `${randomUUID()}@example.com`, password: "correct horse battery" });
  const headers = { "content-type": "application/json" };
  const registered = await service.fetch("/api/auth/register", { method: "POST", headers, body });
  const loggedIn = await service.fetch("/api/auth/login", { method: "POST", headers, body });
  return [registered.status, loggedIn.status];
}

/** The settings that connections to `url` lack, as the statements that set them. */
async function lostSettings(url: string): Promise<string[]> {
  const database = databaseOf(
    postgresAdapter(url, 1, () => {}),
    serverParts(url),
    true,
  );
  const lost = await findMissingSettings(database.client, SERVICE_LIMITS);
  await database.close();
  return lost;
}

async function run(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

describe.runIf(postgresUrl)("behind PgBouncer in transaction mode", () => {
  test.runIf(hasCommands("pgbouncer"))(
    "everything works, with the time limits of the role, and migrations go to DATABASE_MIGRATE_URL",
    async () => {
      const direct = await createDatabase(postgresUrl);
      const pooler = await startPgBouncer(direct, 3);
      const env = { ...SERVER, DATABASE_URL: pooler.url, DATABASE_MIGRATE_URL: direct };
      expect(await runCommand("db:migrate", [], env)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("Applied: "),
      });

      expect(await lostSettings(direct)).toEqual([]);
      const statements = await lostSettings(pooler.url);
      expect(statements).toContain("ALTER ROLE postgres SET statement_timeout = '8000'");
      const service = await startForTest(env);
      await expect.poll(() => service.output()).toContain("ALTER ROLE postgres SET lock_timeout");

      const all = await Promise.all(Array.from({ length: 4 }, () => registerAndLogIn(service)));
      expect(new Set(all.flat())).toEqual(new Set([201, 200]));
      expect((await deliverTo(service, billingEvent("INITIAL_PURCHASE"))).status).toBe(200);

      const onDatabase = `ALTER DATABASE ${new URL(direct).pathname.slice(1)} SET`; // the role is every test's
      for (const statement of statements) await run(direct, statement.replace("ALTER ROLE postgres SET", onDatabase));
      await pooler.restart();
      expect(await lostSettings(pooler.url)).toEqual([]);
      await expect.poll(() => health(service), POLL).toBe(200);
      expect(await registerAndLogIn(service)).toEqual([201, 200]);
      expect(await service.end("SIGTERM")).toBe(0);
    },
  );
});

describe.runIf(postgresUrl)("with a primary and its standby", () => {
  let primary: Cluster;
  let standby: Cluster;

  beforeAll(async () => {
    primary = await startCluster();
    await applyMigrations(migrationAdapter(primary.url));
    standby = await startCluster({ standbyOf: primary.url });
  });
  afterAll(() => {
    standby?.remove();
    primary?.remove();
  });

  test("DATABASE_READ_URL: reads go to a standby that keeps up, and to the primary while it lags or is down", async () => {
    const { reads, database, clock } = openReads(primary.url, standby.url);
    await expect.poll(reads.lagMs, POLL).not.toBeNull();
    expect(await inRecovery(reads)).toBe(true);
    clock.advance(LAG_MS);
    await expect.poll(reads.lagMs, POLL).not.toBeNull(); // the primary has nothing to send

    await run(standby.url, "SELECT pg_wal_replay_pause()");
    await database.client.usedIdToken.create({ data: { hash: "x", expiresAt: new Date() } });
    clock.advance(LAG_MS);
    await expect.poll(reads.lagMs, POLL).toBeNull();
    expect(await inRecovery(reads)).toBe(false);
    expect(await reads.client().usedIdToken.count()).toBe(1);
    await run(standby.url, "SELECT pg_wal_replay_resume()");
    await expect.poll(reads.lagMs, POLL).not.toBeNull();
    expect(await reads.client().usedIdToken.count()).toBe(1);

    standby.stop();
    await expect.poll(reads.lagMs, POLL).toBeNull();
    expect(await inRecovery(reads)).toBe(false);
    standby.start();
    await expect.poll(() => inRecovery(reads), POLL).toBe(true);
  });

  test.each([
    ["the primary", async () => primary.url],
    ["another server", async () => postgresUrl],
    ["another database", async () => new URL("/template1", standby.url).href],
  ])("DATABASE_READ_URL: %s is not used, and the log says why", async (_, urlOf) => {
    const { reads, log } = openReads(primary.url, await urlOf());
    await expect.poll(log, POLL).toContain("DATABASE_READ_URL is not a standby of the database in DATABASE_URL");
    expect(reads.lagMs()).toBeNull();
  });

  test("DATABASE_READ_URL: a service reads by a role without privileges, and goes on without it", async () => {
    await run(primary.url, "CREATE ROLE homeport LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO homeport");
    const [DATABASE_URL, DATABASE_READ_URL] = [primary, standby].map(({ url }) =>
      url.replace("postgres@", "homeport@"),
    );
    const METRICS_PORT = String(await freePort());
    const env = { ...SERVER, DATABASE_URL: DATABASE_URL ?? "", METRICS_PORT };
    const service = await startForTest({ ...env, DATABASE_READ_URL: DATABASE_READ_URL ?? "" });
    const scopes = ["audit:read", "releases:read", "push:read"].flatMap((scope) => ["--scope", scope]);
    const created = await runCommand("homeport", ["keys", "create", "CI", ...scopes, "--json"], env);
    const { key } = JSON.parse(created.stdout) as { key: string };
    const statuses = () =>
      Promise.all(
        PATHS.map(async (path) => (await service.fetch(path, { headers: { authorization: `Bearer ${key}` } })).status),
      );
    const lag = async () => {
      const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
      return Number(/^homeport_replica_lag_seconds (\S+)$/m.exec(text)?.[1]);
    };
    await expect.poll(lag, POLL).toBeGreaterThanOrEqual(0);
    expect(await statuses()).toEqual(PATHS.map(() => 200));
    standby.stop();
    await expect.poll(lag, POLL).toBe(-1);
    expect(await statuses()).toEqual(PATHS.map(() => 200));
    expect((await service.fetch("/api/health")).status).toBe(200);
    expect(service.output()).toContain("the replica is not used: reads go to the primary");
    expect(service.output()).not.toContain("25006"); // SQLSTATE read_only_sql_transaction
    standby.start();
    expect(await service.end("SIGTERM")).toBe(0);
  });

  test("connections go to the primary, and after a failover to the new one", async () => {
    const hosts = [standby, primary].map(({ url }) => new URL(url).host);
    const DATABASE_URL = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
    const service = await startForTest({ ...SERVER, DATABASE_URL });
    await expect.poll(() => health(service), POLL).toBe(200);
    expect(await registerAndLogIn(service)).toEqual([201, 200]);

    primary.stop();
    await expect.poll(() => health(service), POLL).toBe(503);
    expect(await registerAndLogIn(service)).toEqual([503, 503]);
    const migration = await runCommand("db:migrate", [], { ...SERVER, DATABASE_URL });
    expect(migration).toMatchObject({ code: 1 });
    expect(migration.stderr).toContain(
      `no host of the database accepts writes: ${hosts[0]} is read-only; ${hosts[1]} `,
    );
    expect(migration.stderr).not.toMatch(/^\s+at /m);

    standby.promote();
    await expect.poll(() => health(service), POLL).toBe(200);
    expect(await registerAndLogIn(service)).toEqual([201, 200]);
  });
});

/** Opens the reads of a service from the database at `url`, with a clock and a log. */
function openReads(primaryUrl: string, url: string) {
  const adapter = postgresAdapter(primaryUrl, 2, () => {});
  const database: Database = databaseOf(adapter, serverParts(primaryUrl), true);
  let [offsetMs, text] = [0, ""];
  const log = pino(
    { level: "info" },
    {
      write: (line) => {
        text += line;
      },
    },
  );
  const nowMs = () => performance.now() + offsetMs;
  const reads = openReplica({ url, poolSize: 2, primary: database.client, log, nowMs });
  onTestFinished(async () => {
    await reads.close();
    await database.close();
  });
  const advance = (ms: number) => {
    offsetMs += ms;
  };
  return { reads, database, log: () => text, clock: { advance } };
}

async function inRecovery({ client }: Pick<ReturnType<typeof openReplica>, "client">): Promise<boolean | undefined> {
  const [row] = await client().$queryRaw<{ is: boolean }[]>`SELECT pg_is_in_recovery() AS is`;
  return row?.is;
}
