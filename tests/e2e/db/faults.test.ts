import { stat } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createDatabase, startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/db/migrations";
import { migrationAdapter } from "@/lib/db/server/adapter";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { billingEvent, deliverTo } from "@/tests/support/billing/billing";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { startProxy } from "@/tests/support/network/proxy";
import { newDataDir, startAndFail, startForTest } from "@/tests/support/process/service";

const POLL = { timeout: 20_000, interval: 100 };

async function sampleCatalog(): Promise<string> {
  const manifest = path.join(await newDataDir(), "releases", "catalog.json");
  await writeSampleCatalog(manifest);
  return manifest;
}

// ASVS 13.3.1, 13.3.2
test("an empty folder is enough: the service starts, and keeps the secrets that it makes to itself", async () => {
  const service = await startForTest({ DATA_DIR: await newDataDir() });
  expect(await (await service.fetch("/api/health")).json()).toMatchObject({ status: "ok" });
  const secrets = await stat(path.join(service.dataDir, "secrets.json"));
  expect(secrets.mode & 0o777).toBe(0o600);
  expect((await stat(path.join(service.dataDir, "db"))).mode & 0o777).toBe(0o700);
  expect(await service.end("SIGTERM")).toBe(0);
});

test("a second process on the same data folder is refused in plain words, and the first goes on", async () => {
  const first = await startForTest();
  const second = await startAndFail({ DATA_DIR: first.dataDir, PORT: "0" });
  expect(second.code).toBe(1);
  expect(second.output).toMatch(
    /Another process \(pid \d+\) is using .*db: it holds the lock on .*db\.lock\. Stop it first/,
  );
  expect((await first.fetch("/api/health")).status).toBe(200);
});

test("bad configuration is refused with every fault in one message", async () => {
  const { code, output } = await startAndFail({ PORT: "99999", BCRYPT_COST: "2", DATA_DIR: await newDataDir() });
  expect(code).toBe(1);
  expect(output).toMatch(/PORT: [\s\S]*BCRYPT_COST: /);
  expect(output).not.toMatch(/^\s+at /m);
});

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  const server = (url: string) => ({
    DATABASE_URL: url,
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
  });

  test("a stopped database is 503 wherever it is needed, and its return needs no restart", async () => {
    const cluster = await startCluster();
    try {
      const service = await startForTest({ ...server(cluster.url), RELEASE_CATALOG: await sampleCatalog() });
      expect((await service.fetch("/api/health")).status).toBe(503); // not migrated yet
      await applyMigrations(migrationAdapter(cluster.url));
      await expect.poll(async () => (await service.fetch("/api/health")).status, POLL).toBe(200);
      const login = () =>
        service.fetch("/api/auth/login", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ email: "nobody@example.com", password: "whatever" }),
        });
      expect((await login()).status).toBe(401);

      cluster.stop();
      await expect.poll(async () => (await service.fetch("/api/health")).status, POLL).toBe(503);
      for (const answer of [await login(), await deliverTo(service, billingEvent("INITIAL_PURCHASE"))]) {
        expect(answer.status).toBe(503);
        expect(await answer.json()).toMatchObject({ code: "unavailable" });
        expect(answer.headers.get("retry-after")).not.toBeNull();
      }
      expect((await service.fetch("/api/version")).status).toBe(200);
      expect((await service.fetch("/api/version?platform=windows&product=core&architecture=x64")).status).toBe(200);
      expect((await service.fetch("/api/download/windows", { method: "HEAD" })).status).toBe(200);
      expect((await service.fetch("/api/health?probe=live")).status).toBe(200);

      cluster.start();
      await expect.poll(async () => (await service.fetch("/api/health")).status, POLL).toBe(200);
      expect((await login()).status).toBe(401);
    } finally {
      cluster.remove();
    }
  });

  test("connections that fall silent are given up, and the service recovers by itself", async () => {
    const url = new URL(await createMigratedDatabase());
    const proxy = await startProxy(Number(url.port));
    try {
      url.port = String(proxy.port);
      const service = await startForTest({ ...server(url.href), RELEASE_CATALOG: await sampleCatalog() });
      await expect.poll(async () => (await service.fetch("/api/health")).status, POLL).toBe(200);
      proxy.muteOpenConnections();
      await expect.poll(async () => (await service.fetch("/api/health")).status, POLL).toBe(503);
      await expect.poll(async () => (await service.fetch("/api/health")).status, POLL).toBe(200);
    } finally {
      proxy.close();
    }
  });

  test("a database that lacks a migration is not served", async () => {
    const url = await createDatabase(postgresUrl);
    const service = await startForTest(server(url));
    const health = await service.fetch("/api/health");
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ status: "error", checks: { database: "error" } });
    expect((await deliverTo(service, billingEvent("INITIAL_PURCHASE"))).status).toBe(503);
    await expect.poll(() => service.output()).toContain("run `npm run db:migrate`"); // the log is buffered
  });
});
