import { setTimeout as delay } from "node:timers/promises";
import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { Context, RequestRecord } from "../../context";

type Deps = Pick<Context, "config" | "log">;
type Request = NonNullable<Parameters<Context["observe"]>[1]>;
type Traces = Pick<Context, "close"> & { observe: (record: RequestRecord, request: Request) => void };

/** How long a shutdown waits for the last spans. */
const FLUSH_TIMEOUT_MS = 2_000;
const MIN_WARNING_INTERVAL_MS = 60_000;

/**
 * Exports a span for each request by OTLP over HTTP, in batches. Registers globally, so that Next's spans of pages are
 * exported too. The SDK reads its other OTEL_ variables (headers, sampler, batches) itself.
 */
export async function openTraces({ config, log }: Deps, endpoint: string): Promise<Traces> {
  // Loaded only if traces are on.
  const [{ BasicTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, resources, core, hooks] =
    await Promise.all([
      import("@opentelemetry/sdk-trace-base"),
      import("@opentelemetry/exporter-trace-otlp-http"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/core"),
      import("@opentelemetry/context-async-hooks"),
    ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, "")}/v1/traces` });
  const identity = { "service.name": config.OTEL_SERVICE_NAME, "service.version": config.build.version };
  const provider = new BasicTracerProvider({
    resource: resources.defaultResource().merge(resources.resourceFromAttributes(identity)),
    spanProcessors: [withoutUrls, new BatchSpanProcessor(withFailureLog(exporter, log))],
  });
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager());
  // No inject: Next would make the page's span a child of the proxy's instead of the caller's.
  propagation.setGlobalPropagator(Object.assign(new core.W3CTraceContextPropagator(), { inject: () => {} }));
  trace.setGlobalTracerProvider(provider);
  return {
    observe: observeWith(provider.getTracer("homeport", config.build.version)),
    close: async () => {
      for (const api of [trace, propagation, context]) api.disable();
      await Promise.race([provider.shutdown().catch(() => {}), delay(FLUSH_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}

/** Removes what Next says of a page's URL: a query can have a code, an email or a text. */
const withoutUrls: SpanProcessor = {
  onStart: () => {},
  onEnd: ({ attributes }) => {
    for (const name of ["http.target", "http.url"]) delete attributes[name];
  },
  forceFlush: async () => {},
  shutdown: async () => {},
};

const requestHeaders: TextMapGetter<Request["headers"]> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  keys: () => [],
};

/** OpenTelemetry, "Semantic conventions for HTTP spans", "HTTP server". */
function observeWith(tracer: Tracer): Traces["observe"] {
  return ({ method, route, status, ms }, request) => {
    const endMs = Date.now();
    const isKnownMethod = method !== "other";
    const active = context.active();
    // For a page, Next has already started a span with the caller's span as its parent.
    const parent = trace.getSpan(active) ? active : propagation.extract(active, request.headers, requestHeaders);
    const attributes = {
      "http.request.method": isKnownMethod ? method : "_OTHER",
      "http.route": route,
      "http.response.status_code": status,
      ...(status >= 500 ? { "error.type": String(status) } : {}),
    };
    const name = `${isKnownMethod ? method : "HTTP"} ${route}`;
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: endMs - ms, attributes }, parent);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endMs);
  };
}

/** Logs failed exports, at most once a minute. */
function withFailureLog(exporter: SpanExporter, log: Deps["log"]): SpanExporter {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const nowMs = performance.now();
        if (result.error && nowMs - warnedAtMs >= MIN_WARNING_INTERVAL_MS) {
          warnedAtMs = nowMs;
          log.warn({ err: result.error }, "could not export traces");
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}
