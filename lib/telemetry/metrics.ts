import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";
import type { Context, Counts, RequestRecord } from "../context";
import { watchBilling } from "./billing";
import { watchOutbox } from "./outbox";

type Deps = Pick<Context, "db" | "dbNow" | "log">;
type Place = { port: number; host: string };
type Metrics = {
  observe: (record: RequestRecord) => void;
  count: Context["count"];
  close: () => Promise<void>;
};

/** An update check takes a tenth of a millisecond, a sign-in a quarter of a second. */
const BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A scraper that sends a byte a second holds no connection for long. */
const SERVER_LIMITS = { headersTimeout: 5_000, requestTimeout: 5_000 };

/**
 * Gathers metrics, and serves them to Prometheus at `GET /metrics` on a server of their own.
 * @throws Error when the port cannot be had
 */
export async function openMetrics(deps: Deps, place: Place): Promise<Metrics> {
  const prom = await import("prom-client"); // not loaded where nobody asks for metrics
  const registry = new prom.Registry();
  prom.collectDefaultMetrics({ register: registry });
  const duration = new prom.Histogram({
    name: "homeport_http_request_duration_seconds",
    help: "Time until an API request was answered, without what the transfer of its body took",
    labelNames: ["method", "route", "status"],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  const counters = createCounters(prom, registry);
  const queues = [watchOutbox(prom, registry, deps), watchBilling(prom, registry, deps)];
  const server = createMetricsServer(registry, queues, deps.log);
  await listen(server, place);
  deps.log.info(place, "metrics are served at /metrics");
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
    help: "Deliveries of the billing webhook, by what became of them",
    labelNames: ["type", "state"],
    registers: [registry],
  });
  const pushDeliveries = new prom.Counter({
    name: "homeport_push_deliveries_total",
    help: "Attempts to deliver a notification, by what became of them",
    labelNames: ["result"],
    registers: [registry],
  });
  return {
    billing_event: (labels) => billingEvents.inc(labels),
    push_delivery: (labels) => pushDeliveries.inc(labels),
  };
}

function createMetricsServer(registry: Registry, queues: (() => Promise<void>)[], log: Deps["log"]): Server {
  return createServer(SERVER_LIMITS, async ({ method, url }, response) => {
    if ((method !== "GET" && method !== "HEAD") || url !== "/metrics") return void response.writeHead(404).end();
    try {
      await Promise.all(queues.map((update) => update()));
      const text = await registry.metrics();
      response.writeHead(200, { "Content-Type": registry.contentType }).end(text);
    } catch (error) {
      log.error({ err: error }, "the metrics cannot be told");
      response.writeHead(500).end();
    }
  });
}

function listen(server: Server, { port, host }: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const taken = `Port ${port} is taken. Set METRICS_PORT to another one.`;
      reject(new Error(error.code === "EADDRINUSE" ? taken : `METRICS_HOST, METRICS_PORT: ${error.message}`));
    });
    server.listen(port, host, resolve);
  });
}
