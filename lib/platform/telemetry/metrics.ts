import { createServer } from "node:http";
import type { Registry } from "prom-client";
import type { Context, Counts, RequestRecord } from "../../context";
import { createAccountGauges } from "./gauges/accounts";
import { createBillingGauges } from "./gauges/billing";
import { createDatabaseGauges } from "./gauges/database-gauges";
import { createMailGauges } from "./gauges/mail";
import { createPushGauges } from "./gauges/push";

const GAUGES = {
  homeport_backup_last_success_timestamp_seconds: "When the last successful backup ended. No value: there is none.",
};

/** Creates the gauges of backups, and returns the function that updates those from the database. */
function createBackupGauges(
  prom: typeof import("prom-client"),
  registry: Registry,
  { database, db }: Pick<Context, "database" | "db">,
): () => Promise<void> {
  new prom.Gauge({
    name: "homeport_database_writes_paused",
    help: "1 while writes wait, because the embedded database is being copied.",
    registers: [registry],
    collect() {
      this.set(database.embedded?.isPaused() ? 1 : 0);
    },
  });
  return createDatabaseGauges(prom, registry, GAUGES, async () => {
    const { _max: last } = await db.backup.aggregate({ where: { error: null }, _max: { endedAt: true } });
    return last.endedAt ? { homeport_backup_last_success_timestamp_seconds: last.endedAt.getTime() / 1000 } : undefined;
  });
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

/** Cover update checks (0.1 ms), sign-ins (250 ms) and time-outs. */
const BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const RECONCILE_OUTCOMES: Counts["billing_reconcile"]["outcome"][] = ["corrected", "unchanged", "limited", "failed"];

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
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  const counters = createCounters(prom, registry);
  const gauges = [createAccountGauges, createBackupGauges, createBillingGauges, createMailGauges, createPushGauges].map(
    (create) => create(prom, registry, deps),
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
  const billingEvents = new prom.Counter({
    name: "homeport_billing_events_total",
    help: "Billing webhook deliveries by event type and resulting state.",
    labelNames: ["type", "state"],
    registers: [registry],
  });
  const billingReconciles = new prom.Counter({
    name: "homeport_billing_reconciles_total",
    help: "Reconciliations of customers with the billing provider by outcome: corrected, unchanged, limited (429) or failed.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  // At zero from the start: the increase to the first failure counts too.
  for (const outcome of RECONCILE_OUTCOMES) billingReconciles.inc({ outcome }, 0);
  const pushDeliveries = new prom.Counter({
    name: "homeport_push_deliveries_total",
    help: "Push delivery attempts by result.",
    labelNames: ["result"],
    registers: [registry],
  });
  return {
    billing_event: (labels) => billingEvents.inc(labels),
    billing_reconcile: (labels) => billingReconciles.inc(labels),
    push_delivery: (labels) => pushDeliveries.inc(labels),
  };
}
