import type { Context } from "../context";
import { openMetrics } from "./metrics";
import { openTraces } from "./traces";

type Telemetry = Pick<Context, "observe" | "count" | "close">;

/**
 * Opens what tells of the service: a log line for each request, and the metrics and traces that are configured.
 * @throws Error when the port for metrics cannot be had
 */
export async function openTelemetry(deps: Pick<Context, "config" | "db" | "dbNow" | "log">): Promise<Telemetry> {
  const { config, log } = deps;
  const { METRICS_PORT: port, METRICS_HOST: host, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  const metrics = port === undefined ? null : await openMetrics(deps, { port, host });
  const traces = endpoint === undefined ? null : await openTraces(deps, endpoint);
  return {
    observe: (record, request) => {
      const { requestId, method, route, status, ms, accountId } = record;
      log.info({ requestId, method, route, status, ms: Math.round(ms * 100) / 100, accountId }, "request");
      metrics?.observe(record);
      if (request) traces?.observe(record, request);
    },
    count: metrics?.count ?? (() => {}),
    close: async () => {
      await Promise.all([metrics?.close(), traces?.close()]);
    },
  };
}
