import path from "node:path";
import { describe, expect, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { processesOf } from "@/tests/support/process/processes";
import { beginForTest, newDataDir, startForTest } from "@/tests/support/process/service";

const POLL = { timeout: 60_000, interval: 100 };
const UPDATE_CHECK = "/api/version?platform=windows&product=core&architecture=x64";
const SERVER = { NEXTAUTH_URL: "http://localhost:3000", NEXTAUTH_SECRET: "x".repeat(32), WEB_CONCURRENCY: "2" };

describe.runIf(postgresUrl)("WEB_CONCURRENCY=2", () => {
  test("two processes share a port, a killed one is replaced, SIGHUP replaces all without a failed request", async () => {
    const metricsPort = await freePort();
    const RELEASE_CATALOG = path.join(await newDataDir(), "releases", "catalog.json");
    await writeSampleCatalog(RELEASE_CATALOG);
    const DATABASE_URL = await createMigratedDatabase();
    const service = await startForTest({ ...SERVER, DATABASE_URL, RELEASE_CATALOG, METRICS_PORT: String(metricsPort) });
    const metric = async (name: string) => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      const values = text.split("\n").filter((line) => line.startsWith(name) && !line.startsWith("#"));
      return values.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    };
    await expect.poll(() => metric("homeport_processes"), POLL).toBe(2);
    const before = processesOf(service);
    const listening = service.output().match(/"pid":\d+,"msg":"listening"/g);
    expect(listening?.map((line) => Number(/\d+/.exec(line)?.[0])).toSorted()).toEqual(before.toSorted());

    // A connection each: the processes take turns.
    const check = () => service.fetch(UPDATE_CHECK, { headers: { connection: "close" } }).then(({ status }) => status);
    for (let i = 0; i < 20; i++) expect(await check()).toBe(200);
    const checks = 'homeport_http_request_duration_seconds_count{method="GET",route="/api/version"';
    expect(await metric(checks)).toBe(20);
    expect(await metric("homeport_mail_queue_depth")).toBe(0);

    process.kill(before[0] ?? 0, "SIGKILL");
    await expect.poll(() => metric("homeport_process_restarts_total"), POLL).toBe(1);
    await expect.poll(() => metric("homeport_processes"), POLL).toBe(2);
    expect(await metric(checks)).toBe(20);
    expect(await check()).toBe(200);

    const old = processesOf(service);
    let isReplaced = false;
    const statuses = new Set<number>();
    const clients = Array.from({ length: 4 }, async (_, i) => {
      while (!isReplaced) statuses.add(i % 2 ? await check() : (await service.fetch(UPDATE_CHECK)).status);
    });
    process.kill(service.pid ?? 0, "SIGHUP");
    await expect.poll(() => service.output(), POLL).toContain("the processes are replaced");
    isReplaced = true;
    await Promise.all(clients);
    expect([...statuses]).toEqual([200]);
    expect(processesOf(service).filter((pid) => old.includes(pid))).toEqual([]);
    expect(processesOf(service)).toHaveLength(2);

    expect(await service.end("SIGTERM")).toBe(0);
    await expect(service.fetch("/api/health")).rejects.toThrow();
  });

  test("signals during the start neither end it nor are lost: SIGHUP waits for it, SIGTERM ends it", async () => {
    const DATABASE_URL = await createMigratedDatabase();
    const reloaded = beginForTest({ ...SERVER, DATABASE_URL, PORT: String(await freePort()) });
    await expect.poll(() => processesOf(reloaded)).toHaveLength(1);
    process.kill(reloaded.pid ?? 0, "SIGHUP");
    await expect.poll(() => reloaded.output(), POLL).toContain("the processes are replaced");
    expect(processesOf(reloaded)).toHaveLength(2);
    expect(await reloaded.end("SIGTERM")).toBe(0);

    const stopped = beginForTest({ ...SERVER, DATABASE_URL, PORT: String(await freePort()) });
    await expect.poll(() => processesOf(stopped)).toHaveLength(1);
    expect(await stopped.end("SIGTERM")).toBe(0);
    expect(stopped.output()).not.toContain("serving requests");
  });
});
