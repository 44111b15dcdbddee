import { createServer } from "node:http";
import type { Registry } from "prom-client";
import type { Context, Counts, RequestRecord } from "../../context";
import {
  accountGauges,
  backupGauges,
  billingGauges,
  createDatabaseGauges,
  mailGauges,
  mirrorGauges,
  pushGauges,
} from "./gauges";

/**
 * Opens request logging, and metrics and traces if they are configured.
 * @throws Error if the metrics server cannot listen
 */
export async function openTelemetry(deps: Pick<Context, "config" | "database" | "db" | "dbNow" | "log" | "now">) {
  const { config, log } = deps;
  const { METRICS_PORT: port, METRICS_HOST: host, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  const metrics = port === undefined ? null : await openMetrics(deps, { port, host });
  const traces = endpoint === undefined ? null : await (await import("./traces")).openTraces(deps, endpoint);
  return {
    observe: (...[record, request]: Parameters<Context["observe"]>) => {
      const { requestId, method, route, status, ms, accountId, keyId, operator } = record;
      const shown = { requestId, method, route, status, ms: Math.round(ms * 100) / 100, accountId, keyId, operator };
      log.info(shown, "request");
      metrics?.observe(record);
      if (request) traces?.observe(record, request);
    },
    count: metrics?.count ?? (() => {}),
    close: async () => {
      await Promise.all([metrics?.close(), traces?.close()]);
    },
  };
}

type Address = { port: number; host: string };

/** Limits how long a slow client can hold a connection. */
const SERVER_LIMITS = { headersTimeout: 5_000, requestTimeout: 5_000 };

/**
 * Serves metrics in Prometheus's text format at `GET /metrics`. Returns what ends the server.
 * @throws Error if the server cannot listen
 */
async function serveMetrics(
  read: () => Promise<string>,
  contentType: string,
  log: Context["log"],
  { port, host }: Address,
): Promise<() => Promise<void>> {
  const server = createServer(SERVER_LIMITS, async ({ method, url }, response) => {
    response.setHeader("X-Content-Type-Options", "nosniff");
    if ((method !== "GET" && method !== "HEAD") || url !== "/metrics") return void response.writeHead(404).end();
    try {
      const text = await read();
      response.writeHead(200, { "Content-Type": contentType }).end(text);
    } catch (error) {
      log.error({ err: error }, "could not collect metrics");
      response.writeHead(500).end();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const inUse = `Port ${port} is in use. Set METRICS_PORT to another port.`;
      reject(new Error(error.code === "EADDRINUSE" ? inUse : `METRICS_HOST, METRICS_PORT: ${error.message}`));
    });
    server.listen(port, host, resolve);
  });
  log.info({ port, host }, "serving metrics at /metrics");
  return () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
}

type Deps = Pick<Context, "database" | "db" | "dbNow" | "log" | "now">;
type Metrics = { observe: (record: RequestRecord) => void; count: Context["count"]; close: () => Promise<void> };

/**
 * Collects metrics, and serves them to Prometheus on a separate server.
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
    // They cover update checks (0.1 ms), sign-ins (250 ms) and time-outs.
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  new prom.Gauge({
    name: "homeport_database_writes_paused",
    help: "1 while writes wait, because the embedded database is being copied.",
    registers: [registry],
    collect() {
      this.set(deps.database.embedded?.isPaused() ? 1 : 0);
    },
  });
  const counters = createCounters(prom, registry);
  const gauges = [accountGauges, backupGauges, billingGauges, mailGauges, mirrorGauges, pushGauges].map((group) =>
    createDatabaseGauges(prom, registry, group, deps),
  );
  const read = async () => {
    await Promise.all(gauges.map((update) => update()));
    return registry.metrics();
  };
  const close = await serveMetrics(read, registry.contentType, deps.log, address);
  return {
    observe: ({ method, route, status, ms }) => duration.observe({ method, route, status }, ms / 1000),
    count: (name, labels) => counters[name](labels),
    close,
  };
}

type Counters = { [Name in keyof Counts]: (labels: Counts[Name]) => void };

function createCounters(prom: typeof import("prom-client"), registry: Registry): Counters {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new prom.Counter({ name, help, labelNames, registers: [registry] });
  const eventsHelp = "Billing webhook deliveries by event type and resulting state.";
  const billingEvents = counter("homeport_billing_events_total", eventsHelp, ["type", "state"]);
  const billingReconciles = counter(
    "homeport_billing_reconciles_total",
    "Reconciliations with the billing providers by outcome: corrected, unchanged, limited (429) or failed.",
    ["provider", "outcome"],
  );
  const recoveredHelp =
    "Billing events whose webhook did not arrive, and that a sweep of the provider's events has found.";
  const recoveredEvents = counter("homeport_billing_events_recovered_total", recoveredHelp, ["provider"]);
  // At zero from the start: the increase to the first failure counts too.
  for (const provider of ["revenuecat", "stripe", "paddle", "app-store"]) {
    recoveredEvents.inc({ provider }, 0);
    for (const outcome of ["corrected", "unchanged", "limited", "failed"])
      billingReconciles.inc({ provider, outcome }, 0);
  }
  const pushDeliveries = counter("homeport_push_deliveries_total", "Push delivery attempts by result.", ["result"]);
  return {
    billing_event: (labels) => billingEvents.inc(labels),
    billing_reconcile: (labels) => billingReconciles.inc(labels),
    billing_recovered: ({ provider, events }) => recoveredEvents.inc({ provider }, events),
    push_delivery: (labels) => pushDeliveries.inc(labels),
  };
}
