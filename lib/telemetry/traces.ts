import { context, propagation, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { Context, RequestRecord } from "../context";
import { asyncContexts, traceparentPropagator, withRemoteParent } from "./trace-context";

type Deps = Pick<Context, "config" | "log">;
type Traces = Pick<Context, "close"> & {
  observe: (record: RequestRecord, request: NonNullable<Parameters<Context["observe"]>[1]>) => void;
};

/** How long the stop may wait for the last spans. */
const FLUSH_MS = 2_000;
const COMPLAINT_INTERVAL_MS = 60_000;

/**
 * Sends a span for each API request by OTLP over HTTP, in batches. Registered for the whole process, so that Next's own
 * spans of pages go the same way. The OTEL_ variables that the SDK knows (headers, sampler, batches) hold.
 */
export async function openTraces({ config, log }: Deps, endpoint: string): Promise<Traces> {
  // Not loaded where nobody asks for traces.
  const [{ BasicTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, resources] = await Promise.all([
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, "")}/v1/traces` });
  const identity = { "service.name": config.OTEL_SERVICE_NAME, "service.version": config.build.version };
  const provider = new BasicTracerProvider({
    resource: resources.defaultResource().merge(resources.resourceFromAttributes(identity)),
    spanProcessors: [new BatchSpanProcessor(withFailureLog(exporter, log))],
  });
  context.setGlobalContextManager(asyncContexts());
  propagation.setGlobalPropagator(traceparentPropagator);
  trace.setGlobalTracerProvider(provider);
  return {
    observe: observeWith(provider.getTracer("homeport", config.build.version)),
    close: async () => {
      for (const api of [trace, propagation, context]) api.disable();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FLUSH_MS);
      });
      await Promise.race([provider.shutdown().catch(() => {}), late]);
      clearTimeout(timer);
    },
  };
}

/** OpenTelemetry, "Semantic conventions for HTTP spans", server. */
function observeWith(tracer: Tracer): Traces["observe"] {
  return ({ method, route, status, ms }, request) => {
    const endMs = Date.now();
    const known = method !== "other";
    const active = context.active();
    // Where Next has the request it has begun a span already, with the parent that the caller named.
    const parent = trace.getSpan(active) ? active : withRemoteParent(active, request.headers.get("traceparent"));
    const attributes = {
      "http.request.method": known ? method : "_OTHER",
      "http.route": route,
      "http.response.status_code": status,
      ...(status >= 500 ? { "error.type": String(status) } : {}),
    };
    const name = `${known ? method : "HTTP"} ${route}`;
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: endMs - ms, attributes }, parent);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endMs);
  };
}

/** Says that spans were not taken, but not for each batch. */
function withFailureLog(exporter: SpanExporter, log: Deps["log"]): SpanExporter {
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const nowMs = performance.now();
        if (result.error && nowMs - saidAtMs >= COMPLAINT_INTERVAL_MS) {
          saidAtMs = nowMs;
          log.warn({ err: result.error }, "traces cannot be delivered");
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}
