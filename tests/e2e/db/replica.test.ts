import { Client } from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { type Cluster, startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/db/migrations";
import { type Database, serverParts, wrap } from "@/lib/db/open";
import { migrationAdapter, postgresAdapter } from "@/lib/db/server/adapter";
import { openReplica } from "@/lib/db/server/replica";
import { postgresUrl } from "@/tests/support/database";
import { runCommand } from "@/tests/support/process/command";
import { startForTest } from "@/tests/support/process/service";

const SERVER = { NEXTAUTH_URL: "http://localhost:3000", NEXTAUTH_SECRET: "x".repeat(32) };
const POLL = { timeout: 30_000, interval: 100 };
/** More than a replica may lag. */
const LAG_MS = 6_000;
/** What reads from the replica, for an API key. */
const PATHS = ["audit", "audit.csv", "releases/adoption", "push/statistics"].map((path) => `/api/admin/${path}`);

let primary: Cluster;
let standby: Cluster;

describe.runIf(postgresUrl)("DATABASE_READ_URL", () => {
  beforeAll(async () => {
    primary = await startCluster();
    await applyMigrations(migrationAdapter(primary.url));
    standby = await startCluster({ standbyOf: primary.url });
  });
  afterAll(() => {
    standby?.remove();
    primary?.remove();
  });

  test("reads go to a standby that keeps up, and to the primary while it lags or is down", async () => {
    const { reads, database, clock } = openReads(standby.url);
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
  ])("%s is not used, and the log says why", async (_, urlOf) => {
    const { reads, log } = openReads(await urlOf());
    await expect.poll(log, POLL).toContain("DATABASE_READ_URL is not a standby of the database in DATABASE_URL");
    expect(reads.lagMs()).toBeNull();
  });

  test("a service reads from it by a role without privileges, and goes on without it", async () => {
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
    expect(await service.end("SIGTERM")).toBe(0);
  });
});

/** Opens the reads of a service, with a clock and a log. */
function openReads(url: string) {
  const adapter = postgresAdapter(primary.url, 2, () => {});
  const database: Database = wrap(adapter, serverParts(primary.url), true);
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

async function run(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
