import path from "node:path";
import { describe, expect, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { processesOf } from "@/tests/support/process/processes";
import { beginForTest, newDataDir } from "@/tests/support/process/service";

const POLL = { timeout: 60_000, interval: 100 };
const SERVER = { NEXTAUTH_URL: "http://localhost:3000", NEXTAUTH_SECRET: "x".repeat(32), WEB_CONCURRENCY: "2" };

/** Begins to start two processes, the first of which exists. `check` sends an update check and resolves to the status. */
async function beginProcesses() {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const RELEASE_CATALOG = path.join(await newDataDir(), "releases", "catalog.json");
  await writeSampleCatalog(RELEASE_CATALOG);
  const DATABASE_URL = await createMigratedDatabase();
  const ports = { PORT: String(port), METRICS_PORT: String(metricsPort) };
  const service = beginForTest({ ...SERVER, ...ports, DATABASE_URL, RELEASE_CATALOG });
  await expect.poll(() => processesOf(service)).toHaveLength(1);
  const url = `http://127.0.0.1:${port}/api/version?platform=windows&product=core&architecture=x64`;
  const check = (connection: string) =>
    fetch(url, { headers: { connection } }).then(({ status }) => status, String) as Promise<number | string>;
  const metric = async (name: string) => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const values = text.split("\n").filter((line) => line.startsWith(name) && !line.startsWith("#"));
    return values.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  return { service, check, metric };
}

describe.runIf(postgresUrl)("WEB_CONCURRENCY=2", () => {
  test("two processes share a port, SIGHUP waits for the start and replaces both without a failed request, a killed one is replaced", async () => {
    const { service, check, metric } = await beginProcesses();
    process.kill(service.pid ?? 0, "SIGHUP");
    await expect.poll(() => check("close"), POLL).toBe(200);
    const statuses = new Set<number | string>();
    const outputAfterRequests = async () => {
      const connections = ["close", "close", "keep-alive", "keep-alive"];
      for (const status of await Promise.all(connections.map(check))) statuses.add(status);
      return service.output();
    };
    await expect.poll(outputAfterRequests, { ...POLL, interval: 5 }).toContain("the processes are replaced");
    expect([...statuses]).toEqual([200]);
    const listening = [...service.output().matchAll(/"pid":(\d+),"msg":"listening"/g)].map(([, pid]) => Number(pid));
    expect(new Set(listening).size).toBe(4);
    const replaced = processesOf(service);
    expect(listening.slice(2).toSorted()).toEqual(replaced.toSorted());
    expect(await metric("homeport_processes")).toBe(2);

    // A connection each: the processes take turns.
    const checks = 'homeport_http_request_duration_seconds_count{method="GET",route="/api/version"';
    const before = await metric(checks);
    for (let i = 0; i < 20; i++) expect(await check("close")).toBe(200);
    expect(await metric(checks)).toBe(before + 20);
    expect(await metric("homeport_mail_queue_depth")).toBe(0);

    process.kill(replaced[0] ?? 0, "SIGKILL");
    await expect.poll(() => metric("homeport_process_restarts_total"), POLL).toBe(1);
    await expect.poll(() => metric("homeport_processes"), POLL).toBe(2);
    expect(await metric(checks)).toBe(before + 20);
    expect(await check("close")).toBe(200);

    expect(await service.end("SIGTERM")).toBe(0);
    expect(await check("close")).toContain("fetch failed");
  });

  test("SIGTERM during the start ends it", async () => {
    const { service } = await beginProcesses();
    expect(await service.end("SIGTERM")).toBe(0);
    expect(service.output()).not.toContain("serving requests");
  });
});
