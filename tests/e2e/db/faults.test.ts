import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/platform/db/migrations";
import { migrationAdapter } from "@/lib/platform/db/server/adapter";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { startProxy } from "@/tests/support/network/proxy";
import { newDataDir, type Service, startForTest } from "@/tests/support/process/service";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";

async function sampleCatalog(): Promise<string> {
  const manifest = path.join(await newDataDir(), "releases", "catalog.json");
  await writeSampleCatalog(manifest);
  return manifest;
}

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  const server = (url: string) => ({
    DATABASE_URL: url,
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
  });

  test("a database that lacks a migration is not served, a stopped one is 503 where it is needed, and neither needs a restart", async () => {
    const cluster = await startCluster();
    onTestFinished(cluster.remove);
    const service = await startForTest({ ...server(cluster.url), RELEASE_CATALOG: await sampleCatalog() });
    const status = async () => (await service.fetch("/api/health")).status;
    await requireMissingMigrations(service);
    await applyMigrations(migrationAdapter(cluster.url));
    await expect.poll(status).toBe(200);
    expect((await login(service)).status).toBe(401);

    cluster.stop();
    await expect.poll(status).toBe(503);
    for (const answer of [await login(service), await deliverTo(service, billingEvent("INITIAL_PURCHASE"))]) {
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({ code: "unavailable" });
      expect(answer.headers.get("retry-after")).not.toBeNull();
    }
    expect((await service.fetch("/api/version")).status).toBe(200);
    expect((await service.fetch("/api/version?platform=windows&product=core&architecture=x64")).status).toBe(200);
    expect((await service.fetch("/api/download/windows", { method: "HEAD" })).status).toBe(200);
    expect((await service.fetch("/api/health?probe=live")).status).toBe(200);

    cluster.start();
    await expect.poll(status).toBe(200);
    expect((await login(service)).status).toBe(401);
  });
});

/** The service says that its database lacks migrations, and how to apply them. */
async function requireMissingMigrations(service: Service): Promise<void> {
  const health = await service.fetch("/api/health");
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({ status: "error", checks: { database: "error" } });
  expect((await deliverTo(service, billingEvent("INITIAL_PURCHASE"))).status).toBe(503);
  await expect.poll(() => service.output()).toContain("run `npm run db:migrate`"); // the log is buffered
}

function login(service: Service): Promise<Response> {
  const body = JSON.stringify({ email: "nobody@example.com", password: "whatever" });
  return service.fetch("/api/auth/login", { method: "POST", headers: { "content-type": "application/json" }, body });
}
