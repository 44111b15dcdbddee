import type { Context } from "../../context";
import { openMetrics } from "./metrics";

type Telemetry = Pick<Context, "observe" | "count" | "close">;

/**
 * Opens request logging, and metrics and traces if they are configured.
 * @throws Error if the metrics server cannot listen
 */
export async function openTelemetry(
  deps: Pick<Context, "config" | "database" | "db" | "dbNow" | "log" | "now">,
): Promise<Telemetry> {
  const { config, log } = deps;
  const { METRICS_PORT: port, METRICS_HOST: host, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  const metrics = port === undefined ? null : await openMetrics(deps, { port, host });
  const traces = endpoint === undefined ? null : await (await import("./traces")).openTraces(deps, endpoint);
  return {
    observe: (record, request) => {
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
