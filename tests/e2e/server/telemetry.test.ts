import { randomBytes } from "node:crypto";
import { readdir, readFile, readlink } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { startCollector } from "@/tests/support/process/collector";
import { anyDatabase, newDataDir, type Service, startAndFail, startService } from "@/tests/support/process/service";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const running: Service[] = [];

async function start(env?: Record<string, string>): Promise<Service> {
  const service = await startService(env);
  running.push(service);
  return service;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.end("SIGKILL")));
});

let service: Service;
let METRICS_PORT: string;

beforeAll(async () => {
  METRICS_PORT = await newPort();
  service = await startService({ HOST: "0.0.0.0", METRICS_PORT });
});
afterAll(async () => {
  expect(await service.end("SIGTERM")).toBe(0);
});

const metricsOf = async (port: string) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
const newPort = async () => String(await freePort());

async function signUp(service: Service, email: string, password: string) {
  const response = await service.post("/api/auth/register", { email, password });
  expect(response.status).toBe(201);
  return (await response.json()) as { token: string; user: { id: string } };
}

/** The IPv4 addresses at which a process listens. */
async function listeners(pid: number | undefined): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")));
  const table = (await readFile(`/proc/${pid}/net/tcp`, "utf8")).trim().split("\n").slice(1);
  return table
    .map((row) => row.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === "0A" && links.includes(`socket:[${inode}]`))
    .map(([, local = ""]) => {
      const [address = "", port = ""] = local.split(":");
      return `${[...Buffer.from(address, "hex")].reverse().join(".")}:${Number.parseInt(port, 16)}`;
    })
    .sort();
}

describe("metrics", () => {
  test("requests are labelled by route pattern and status, never by path or query", async () => {
    await service.fetch("/api/version?platform=windows&product=core&architecture=x64&hidden=in-a-query");
    await service.fetch("/api/push/devices/hidden-in-a-path", { method: "DELETE" });
    await service.fetch("/api/hidden-in-a-path");
    const text = await metricsOf(METRICS_PORT);
    const counted = (labels: string) => `homeport_http_request_duration_seconds_count{${labels}} 1\n`;
    expect(text).toContain(counted('method="GET",route="/api/version",status="200"'));
    expect(text).toContain(counted('method="DELETE",route="/api/push/devices/[deviceId]",status="401"'));
    expect(text).toContain(counted('method="GET",route="/api/[[...path]]",status="404"'));
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
    expect(text).not.toMatch(/hidden|windows/);
  });

  test("a billing event delivered twice counts once as processed and once as a duplicate", async () => {
    const event = billingEvent("INITIAL_PURCHASE");
    for (const sent of [event, event, billingEvent("MADE_UP_BY_THE_SENDER")]) {
      expect((await deliverTo(service, sent)).status).toBe(200);
    }
    const text = await metricsOf(METRICS_PORT);
    expect(text.match(/^homeport_billing_events_total.*$/gm)?.sort()).toEqual([
      'homeport_billing_events_total{type="INITIAL_PURCHASE",state="duplicate"} 1',
      'homeport_billing_events_total{type="INITIAL_PURCHASE",state="processed"} 1',
      'homeport_billing_events_total{type="other",state="ignored"} 1',
    ]);
  });

  test("a notification counts once it is sent, and the outbox is then empty", async () => {
    const { token } = await signUp(service, "push@example.com", "correct horse battery");
    const device = { token: randomBytes(32).toString("hex") };
    const registered = await service.post("/api/push/register", device, { authorization: `Bearer ${token}` });
    expect(registered.ok).toBe(true);
    await expect.poll(() => metricsOf(METRICS_PORT)).toContain('homeport_push_deliveries_total{result="sent"} 1\n');
    const text = await metricsOf(METRICS_PORT);
    expect(text).toContain("homeport_push_outbox_depth 0\n");
    expect(text).toContain("homeport_push_outbox_oldest_age_seconds 0\n");
  });

  test("without a database the other metrics are still served", async () => {
    const metricsPort = await newPort();
    const down = await start({
      METRICS_PORT: metricsPort,
      DATABASE_URL: `postgres://nobody@127.0.0.1:${await newPort()}/nothing`,
      NEXTAUTH_URL: "http://localhost:3000",
      NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
    });
    await down.fetch("/api/version");
    const text = await metricsOf(metricsPort);
    expect(text).toContain('route="/api/version",status="200"');
    expect(text).not.toMatch(/^homeport_push_outbox_/m);
  });

  // ASVS 13.4.5
  test("they are served only if a port is set, on the loopback interface", async () => {
    const off = await start({ HOST: "0.0.0.0", ...(await anyDatabase()) });
    expect(await listeners(off.pid)).toEqual([`0.0.0.0:${new URL(off.url).port}`]);
    const { pid, url } = service;
    expect(await listeners(pid)).toEqual([`0.0.0.0:${new URL(url).port}`, `127.0.0.1:${METRICS_PORT}`].sort());
    expect((await service.fetch("/metrics")).status).toBe(404);
    const base = `http://127.0.0.1:${METRICS_PORT}`;
    expect((await fetch(`${base}/api/health`)).status).toBe(404);
    expect((await fetch(`${base}/metrics`, { method: "POST" })).status).toBe(404);
  });

  test("a port that is in use is reported in one line", async () => {
    const { code, output } = await startAndFail({
      PORT: await newPort(),
      METRICS_PORT,
      DATA_DIR: await newDataDir(),
      NEXTAUTH_URL: "http://localhost:3000",
      NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
      ...(await anyDatabase()),
    });
    expect(code).toBe(1);
    expect(output).toContain(
      `Homeport cannot start: Port ${METRICS_PORT} is in use. Set METRICS_PORT to another port.`,
    );
    expect(output).not.toMatch(/^\s+at /m);
  });
});

// ASVS 1.3.7, 1.3.10, 16.2.1, 16.2.2, 16.2.4, 16.2.5
test("a request is one line with these fields, without the client's input", async () => {
  const [email, password] = ["log@example.com", "hidden horse battery"];
  const { token, user } = await signUp(service, email, password);
  await service.post("/api/auth/login", { email, password: `${password} not` });
  await service.fetch("/api/version?hidden=in-a-query");
  await service.fetch("/api/push/devices", { headers: { authorization: `Bearer ${token}`, "x-request-id": "mine" } });
  await service.fetch("/api/hidden-in-a-path?hidden", { headers: { "x-request-id": "last" } });
  await expect.poll(service.log).toContain('"requestId":"last"');
  const written = service.output().match(/^\{.*"msg":"request".*$/gm) ?? [];
  const lines = written.map((line) => JSON.parse(line) as Record<string, unknown>);
  const fields = ["level", "time", "requestId", "method", "route", "status", "ms", "msg"];
  for (const line of lines) {
    expect(Object.keys(line).filter((field) => field !== "accountId")).toEqual(fields);
    expect(String(line.ms)).toMatch(/^\d+(\.\d\d?)?$/);
  }
  expect(lines.filter(({ route }) => route === "/api/auth/login")).toMatchObject([{ method: "POST", status: 401 }]);
  expect(lines.filter(({ requestId }) => requestId === "mine")).toMatchObject([
    { method: "GET", route: "/api/push/devices", status: 200, accountId: user.id },
  ]);
  expect(service.output()).not.toMatch(/hidden|log@example/);
  expect(service.output()).not.toContain(token);
});

describe("traces", () => {
  const from = (flags: string) => ({ traceparent: `00-${TRACE}-${CALLER}-${flags}` });

  test("a request is a span below its client's, with route and status, a 5xx as an error, exported before the process ends", async () => {
    const collector = await startCollector();
    const RELEASE_CATALOG = `${await newDataDir()}/none.json`;
    const service = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      RELEASE_CATALOG,
      ...(await anyDatabase()),
    });
    await service.fetch("/api/version?hidden=in-a-query", { headers: from("01") });
    await service.fetch("/api/download/windows", { headers: from("01") });
    await service.fetch("/api/hidden-in-a-path", { headers: { traceparent: `00-${TRACE}-${"0".repeat(16)}-01` } });
    await service.fetch("/api/push/devices", { headers: from("00") });
    expect(await service.end("SIGTERM")).toBe(0);
    collector.close();
    const [version, download, ...others] = collector.spans.filter(({ traceId }) => traceId === TRACE);
    expect(others).toEqual([]); // one caller was not valid, one did not want to be recorded
    expect(version).toMatchObject({ service: "homeport", name: "GET /api/version", kind: 2, parentSpanId: CALLER });
    expect(version?.attributes).toEqual({
      "http.request.method": "GET",
      "http.route": "/api/version",
      "http.response.status_code": 200,
    });
    expect(download).toMatchObject({
      name: "GET /api/download/[platform]",
      status: { code: 2 },
      attributes: { "http.response.status_code": 503, "error.type": "503" },
    });
    const [nowhere] = collector.spans.filter(({ name }) => name === "GET /api/[[...path]]");
    expect(nowhere).toMatchObject({ status: { code: 0 }, attributes: { "http.response.status_code": 404 } });
    expect(nowhere?.parentSpanId).toBeUndefined();
    expect(JSON.stringify(collector.spans)).not.toContain("hidden");
  });

  test("a page's spans are Next's, in one trace below the client's", async () => {
    const collector = await startCollector();
    const service = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_SERVICE_NAME: "by-another-name",
      ...(await anyDatabase()),
    });
    expect((await service.fetch("/", { headers: from("01") })).status).toBe(200);
    expect((await service.fetch("/sign-in?callbackUrl=/hidden")).status).toBe(200);
    expect(await service.end("SIGTERM")).toBe(0);
    collector.close();
    const page = collector.spans.filter(({ traceId }) => traceId === TRACE);
    expect(page).toContainEqual(expect.objectContaining({ service: "by-another-name", name: "GET /", kind: 2 }));
    const roots = page.filter(({ parentSpanId }) => parentSpanId === CALLER);
    expect(roots.map(({ name }) => name).toSorted()).toEqual(["GET", "GET /"]); // proxy.ts before the page
    expect(collector.spans).toContainEqual(expect.objectContaining({ name: "GET /sign-in" }));
    expect(JSON.stringify(collector.spans)).not.toContain("hidden");
  });

  test("a collector that rejects spans is logged once, and delays neither requests nor the stop", async () => {
    const service = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await newPort()}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: "50",
      OTEL_BSP_SCHEDULE_DELAY: "10",
      ...(await anyDatabase()),
    });
    const complaints = () => service.output().split("could not export traces").length - 1;
    expect((await service.fetch("/api/health")).status).toBe(200);
    await expect.poll(complaints).toBe(1);
    expect((await service.fetch("/api/health")).status).toBe(200);
    expect(await service.end("SIGTERM")).toBe(0);
    expect(complaints()).toBe(1);
  });

  test("a collector that never responds does not prevent the process from ending", async () => {
    const collector = await startCollector({ silent: true });
    const service = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...(await anyDatabase()) });
    expect((await service.fetch("/api/health")).status).toBe(200);
    expect(await service.end("SIGTERM")).toBe(0);
    collector.close();
  });
});
