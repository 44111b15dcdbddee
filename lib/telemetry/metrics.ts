import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";
import type { Context, Counts, RequestRecord } from "../context";
import { createAccountGauges } from "./accounts";
import { createBackupGauges } from "./backup";
import { createBillingGauges } from "./billing";
import { createMailGauges } from "./mail";
import { createPushGauges } from "./push";

type Deps = Pick<Context, "db" | "dbNow" | "log" | "now">;
type Address = { port: number; host: string };
type Metrics = {
  observe: (record: RequestRecord) => void;
  count: Context["count"];
  close: () => Promise<void>;
};

/** Cover update checks (0.1 ms), sign-ins (250 ms) and time-outs. */
const BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Limits how long a slow client can hold a connection. */
const SERVER_LIMITS = { headersTimeout: 5_000, requestTimeout: 5_000 };

/**
 * Collects metrics and serves them to Prometheus at `GET /metrics`, on a separate server.
 * @throws Error if the server cannot listen
 */
export async function openMetrics(deps: Deps, address: Address): Promise<Metrics> {
  const prom = await import("prom-client"); // loaded only if metrics are on
  const registry = new prom.Registry();
  prom.collectDefaultMetrics({ register: registry });
  const duration = new prom.Histogram({
    name: "homeport_http_request_duration_seconds",
    help: "Duration of HTTP requests until the response headers, without the time to receive the request body.",
    labelNames: ["method", "route", "status"],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  const counters = createCounters(prom, registry);
  const gauges = [createAccountGauges, createBackupGauges, createBillingGauges, createMailGauges, createPushGauges].map(
    (create) => create(prom, registry, deps),
  );
  const server = createMetricsServer(registry, gauges, deps.log);
  await listen(server, address);
  deps.log.info(address, "serving metrics at /metrics");
  return {
    observe: ({ method, route, status, ms }) => duration.observe({ method, route, status }, ms / 1000),
    count: (name, labels) => counters[name](labels),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

type Counters = { [Name in keyof Counts]: (labels: Counts[Name]) => void };

function createCounters(prom: typeof import("prom-client"), registry: Registry): Counters {
  const billingEvents = new prom.Counter({
    name: "homeport_billing_events_total",
    help: "Billing webhook deliveries by event type and resulting state.",
    labelNames: ["type", "state"],
    registers: [registry],
  });
  const pushDeliveries = new prom.Counter({
    name: "homeport_push_deliveries_total",
    help: "Push delivery attempts by result.",
    labelNames: ["result"],
    registers: [registry],
  });
  return {
    billing_event: (labels) => billingEvents.inc(labels),
    push_delivery: (labels) => pushDeliveries.inc(labels),
  };
}

function createMetricsServer(registry: Registry, updateGauges: (() => Promise<void>)[], log: Deps["log"]): Server {
  return createServer(SERVER_LIMITS, async ({ method, url }, response) => {
    response.setHeader("X-Content-Type-Options", "nosniff");
    if ((method !== "GET" && method !== "HEAD") || url !== "/metrics") return void response.writeHead(404).end();
    try {
      await Promise.all(updateGauges.map((update) => update()));
      const text = await registry.metrics();
      response.writeHead(200, { "Content-Type": registry.contentType }).end(text);
    } catch (error) {
      log.error({ err: error }, "could not collect metrics");
      response.writeHead(500).end();
    }
  });
}

function listen(server: Server, { port, host }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const inUse = `Port ${port} is in use. Set METRICS_PORT to another port.`;
      reject(new Error(error.code === "EADDRINUSE" ? inUse : `METRICS_HOST, METRICS_PORT: ${error.message}`));
    });
    server.listen(port, host, resolve);
  });
}
