import type { Registry } from "prom-client";
import type { Context, Counts, RequestRecord } from "../../context";
import { type Address, serveMetrics } from "./export/metrics-server";
import { createAccountGauges } from "./gauges/accounts";
import { createBackupGauges } from "./gauges/backup";
import { createBillingGauges } from "./gauges/billing";
import { createMailGauges } from "./gauges/mail";
import { createPushGauges } from "./gauges/push";

type Deps = Pick<Context, "database" | "db" | "dbNow" | "log" | "now">;
type Metrics = {
  observe: (record: RequestRecord) => void;
  count: Context["count"];
  close: () => Promise<void>;
};

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
