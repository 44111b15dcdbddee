import { createServer } from "node:http";
import { listen } from "@/tests/support/network/listen";

type Attributes = { key: string; value: { stringValue?: string; intValue?: number } }[];
type Sent = {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: { spans: (Omit<Span, "attributes" | "service"> & { attributes: Attributes })[] }[];
  }[];
};

/** A span as OTLP's JSON has it, its attributes as an object, with the name of the service that sent it. */
type Span = {
  service: unknown;
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  status: { code: number };
};

export type Collector = { url: string; spans: Span[]; close: () => void };

/** A collector of traces that takes OTLP over HTTP, as JSON. One that is silent takes requests and answers none. */
export async function startCollector({ silent = false } = {}): Promise<Collector> {
  const spans: Span[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (silent) return;
    if (request.method === "POST" && request.url === "/v1/traces") spans.push(...read(JSON.parse(body) as Sent));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  const address = await listen(server);
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://${address}`, spans, close };
}

function read({ resourceSpans }: Sent): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        ...span,
        service: plain(resource.attributes)["service.name"],
        attributes: plain(span.attributes),
      })),
  );
}

function plain(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}
