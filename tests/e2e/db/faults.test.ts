import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/platform/db/migrations";
import { migrationAdapter } from "@/lib/platform/db/server/adapter";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { postgresUrl } from "@/tests/support/database";
import { newDataDir, type Service, startForTest } from "@/tests/support/process/service";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";

const RELEASE = "platform=windows&product=core&architecture=x64";

test.runIf(postgresUrl)(
  "a database that lacks a migration is not served, a stopped one is 503 where it is needed, and neither needs a restart",
  async () => {
    const cluster = await startCluster();
    onTestFinished(cluster.remove);
    const RELEASE_CATALOG = path.join(await newDataDir(), "catalog.json");
    await writeSampleCatalog(RELEASE_CATALOG);
    const service = await startForTest({ DATABASE_URL: cluster.url, RELEASE_CATALOG });
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
    for (const served of ["/api/version", `/api/version?${RELEASE}`, "/api/health?probe=live"]) {
      expect((await service.fetch(served)).status).toBe(200);
    }
    expect((await service.fetch("/api/download/windows", { method: "HEAD" })).status).toBe(200);

    cluster.start();
    await expect.poll(status).toBe(200);
    expect((await login(service)).status).toBe(401);
  },
);

/** The service says that its database lacks migrations, and how to apply them. */
async function requireMissingMigrations(service: Service): Promise<void> {
  const health = await service.fetch("/api/health");
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({ status: "error", checks: { database: "error" } });
  expect((await deliverTo(service, billingEvent("INITIAL_PURCHASE"))).status).toBe(503);
  await expect.poll(() => service.output()).toContain("run `homeport db migrate`"); // the log is buffered
}

const login = (service: Service) =>
  service.post("/api/auth/login", { email: "nobody@example.com", password: "whatever" });
