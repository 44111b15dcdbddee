import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { dashboardJson } from "@/dev/grafana/dashboard";
import { bearer, newDataDir, registerAt, type Service, startForTest } from "@/tests/support/process/service";
import { hasCommands } from "@/tests/support/requirements";
import { read } from "@/tests/support/sources";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";

const ALERTS = path.resolve("deploy/prometheus/alerts.yml");
const PATIENCE_MS = 60_000;

type Dashboard = { panels: { title: string; targets?: { expr: string }[] }[] };
type Rules = { data: { groups: { rules: { name: string; health: string; state: string }[] }[] } };

/** Prometheus, which scrapes this port each second and has the alerts. Returns the URL of its API. */
async function startPrometheus(metricsPort: number): Promise<string> {
  const folder = await newDataDir();
  const port = await freePort();
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [ALERTS],
    scrape_configs: [{ job_name: "homeport", static_configs: [{ targets: [`127.0.0.1:${metricsPort}`] }] }],
  };
  const file = path.join(folder, "prometheus.yml");
  await writeFile(file, JSON.stringify(config)); // JSON is YAML
  const options = [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`];
  const address = `127.0.0.1:${port}`;
  const child = spawn("prometheus", [...options, `--web.listen-address=${address}`], { stdio: "ignore" });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  return `http://${address}/api/v1`;
}

/** A request of every kind that a panel shows. */
async function sendTraffic(service: Service): Promise<void> {
  const selection = "platform=windows&product=core&architecture=x64";
  await service.fetch(`/api/version?${selection}`);
  await service.fetch("/api/download/windows?product=core&architecture=x64", { redirect: "manual" });
  await deliverTo(service, billingEvent("INITIAL_PURCHASE"));
}

async function registerDevice(service: Service): Promise<void> {
  const { token } = await registerAt(service);
  const device = { token: randomBytes(32).toString("hex") };
  expect((await service.post("/api/push/register", device, bearer(token))).ok).toBe(true);
}

const panels = (): { title: string; query: string }[] =>
  (JSON.parse(dashboardJson()) as Dashboard).panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      query: expr.replaceAll("$job", "homeport").replaceAll("$__rate_interval", "10s"),
    })),
  );

test("the dashboard is what dev/grafana describes", () => {
  expect(read("deploy/grafana/homeport.json")).toBe(dashboardJson());
});

test("every alert has a runbook", () => {
  const anchors = [...read("docs/operate.md").matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title.toLowerCase().replaceAll(" ", "-"),
  );
  const runbooks = [...read(ALERTS).matchAll(/runbook_url: docs\/operate\.md#(\S+)/g)].map(([, anchor]) => anchor);
  expect(runbooks).toHaveLength(read(ALERTS).match(/- alert:/g)?.length ?? 0);
  expect(anchors).toEqual(expect.arrayContaining(runbooks));
});

describe.runIf(hasCommands("prometheus", "promtool"))("with Prometheus", () => {
  test("the alerts fire when they should, and only then", () => {
    execFileSync("promtool", ["test", "rules", "deploy/prometheus/alerts.test.yml"], { stdio: "pipe" });
  });

  test(
    "every panel has data from a running service, and no alert fires",
    async () => {
      const metricsPort = await freePort();
      const backups = { BACKUP_SCHEDULE: "hourly", BACKUP_TO: await newDataDir() };
      const service = await startForTest({ METRICS_PORT: String(metricsPort), ...backups });
      const api = await startPrometheus(metricsPort);
      await registerDevice(service);
      const hasData = async (query: string) => {
        const response = await fetch(`${api}/query?${new URLSearchParams({ query })}`).catch(() => null);
        const { data } = ((await response?.json()) ?? {}) as { data?: { result: { value: [number, string] }[] } };
        return data?.result.some(({ value: [, value] }) => value !== "NaN");
      };
      let empty = panels();
      const withoutData = async () => {
        await sendTraffic(service);
        const results = await Promise.all(empty.map(({ query }) => hasData(query)));
        empty = empty.filter((_, i) => !results[i]);
        return empty.map(({ title }) => title);
      };
      await expect.poll(withoutData, { timeout: PATIENCE_MS, interval: 500 }).toEqual([]);
      const { data } = (await (await fetch(`${api}/rules`)).json()) as Rules;
      const rules = data.groups.flatMap((group) => group.rules);
      expect(rules.length).toBeGreaterThan(10);
      const other = rules.filter(({ name }) => name !== "HomeportSlow"); // depends on what else the machine does
      expect(other).toHaveLength(rules.length - 1);
      expect(other.filter(({ health, state }) => health !== "ok" || state !== "inactive")).toEqual([]);
    },
    2 * PATIENCE_MS,
  );
});
