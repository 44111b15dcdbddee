import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, createDatabase, startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/platform/db/migrations";
import { databaseOf, serverParts } from "@/lib/platform/db/open";
import { migrationAdapter, postgresAdapter } from "@/lib/platform/db/server/adapter";
import { findMissingSettings, SERVICE_LIMITS } from "@/lib/platform/db/time-limits";
import { postgresUrl } from "@/tests/support/database";
import { startPgBouncer } from "@/tests/support/network/pgbouncer";
import { runCommand } from "@/tests/support/process/command";
import { type Service, startForTest } from "@/tests/support/process/service";
import { hasCommands } from "@/tests/support/requirements";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";

const SERVER = { NEXTAUTH_URL: "http://localhost:3000", NEXTAUTH_SECRET: "x".repeat(32), RATE_LIMITS: "off" };

const health = async (service: Service) => (await service.fetch("/api/health")).status;

/** Registers an account and signs in. Resolves to both statuses. */
async function registerAndLogIn(service: Service): Promise<number[]> {
  const person = { email: `${randomUUID()}@example.com`, password: "correct horse battery" };
  const registered = await service.post("/api/auth/register", person);
  const loggedIn = await service.post("/api/auth/login", person);
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
      await expect.poll(() => health(service)).toBe(200);
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

  test("connections go to the primary, and after a failover to the new one", async () => {
    const hosts = [standby, primary].map(({ url }) => new URL(url).host);
    const DATABASE_URL = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
    const service = await startForTest({ ...SERVER, DATABASE_URL });
    await expect.poll(() => health(service)).toBe(200);
    expect(await registerAndLogIn(service)).toEqual([201, 200]);

    primary.stop();
    await expect.poll(() => health(service)).toBe(503);
    expect(await registerAndLogIn(service)).toEqual([503, 503]);
    const migration = await runCommand("db:migrate", [], { ...SERVER, DATABASE_URL });
    expect(migration).toMatchObject({ code: 1 });
    expect(migration.stderr).toContain(
      `no host of the database accepts writes: ${hosts[0]} is read-only; ${hosts[1]} `,
    );
    expect(migration.stderr).not.toMatch(/^\s+at /m);

    standby.promote();
    await expect.poll(() => health(service)).toBe(200);
    expect(await registerAndLogIn(service)).toEqual([201, 200]);
  });
});
