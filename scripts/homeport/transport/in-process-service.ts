import { buffer } from "node:stream/consumers";
import { pino } from "pino";
import { responders } from "../../../app/routes.generated";
import { parseOperatorName } from "../../../lib/auth/local-operator";
import { composeContext } from "../../../lib/compose";
import { type Context, setContext } from "../../../lib/context";
import { loadConfig } from "../../../lib/platform/config";
import { createRouteTable, findRoute } from "../../../lib/platform/http/server/routes";
import { isStreamed, type RouteRequest, type RouteResponse } from "../../../lib/platform/http-message";
import { type Catalog, openCatalog } from "../../../lib/releases/catalog/catalog";
import { openCommandDatabase } from "../../command-database";
import { type ApiResponse, clientOf, type HttpClient, type HttpRequest } from "./http-client";
import { requestOf } from "./operations";
import { encodedOperatorName } from "./running-service";

/** Its path and those below it read the catalog. */
const RELEASES = requestOf("listReleases").path;

/**
 * The service's routes in this process, on its database, without its background work: no worker, no listener, no task.
 * @throws DataDirInUseError; CommandError if migrations are missing
 */
export async function openInProcessService(): Promise<HttpClient & { close: () => Promise<void> }> {
  const config = { ...loadConfig(), PUSH_WORKER: "off", METRICS_PORT: undefined } as const;
  const log = pino({ level: "error" }, pino.destination({ dest: process.stderr.fd, sync: true }));
  const silent = log.child({}, { level: "silent" }); // the routes say what is wrong with a catalog
  const database = await openCommandDatabase(config);
  const quiet = { ...config, OTEL_EXPORTER_OTLP_ENDPOINT: undefined };
  const catalog = lazyCatalog(() => openCatalog(config, silent, { hasSamples: false }));
  const context = withoutWork(await composeContext(quiet, { database, log, catalog }));
  setContext(context);
  const table = createRouteTable(responders);
  const operator = parseOperatorName(encodedOperatorName());
  const send = async (request: HttpRequest): Promise<ApiResponse> => {
    const { method, path } = request;
    const match = findRoute(table, path.replace(/\?.*/, ""));
    const handler = typeof match?.responder === "object" ? match.responder[method] : undefined;
    if (!match || !handler) throw new Error(`There is no route ${method} ${path}`);
    if (match.path.startsWith(RELEASES)) await context.catalog.refresh();
    return toApiResponse(await handler.respond(toRouteRequest(request), { params: match.params, operator }));
  };
  return { ...clientOf("The service", send), close: context.close };
}

/** What a command queues is sent by the service, which may be another process, or the next start. */
function withoutWork(context: Context): Context {
  const wake = () => {};
  return {
    ...context,
    emails: { ...context.emails, wake },
    appleRevocations: { ...context.appleRevocations, wake },
    reconciler: { ...context.reconciler, wake },
    webhooks: { ...context.webhooks, wake },
  };
}

/** A catalog that is opened by the first `refresh`: few commands need it, and it may be at a URL. */
function lazyCatalog(open: () => Promise<Catalog>): Catalog {
  let opened: Catalog | null = null;
  return {
    current: () => opened?.current() ?? null,
    state: () => opened?.state() ?? "warn",
    refresh: async () => {
      if (opened) return opened.refresh();
      opened = await open();
    },
    close: () => opened?.close(),
  };
}

/** A request as route handlers read it, without the classes of `fetch`, which take long to load. */
function toRouteRequest({ method, path, headers = {}, body }: HttpRequest): RouteRequest {
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return {
    method,
    url: path,
    headers: { get: (name) => byName.get(name.toLowerCase()) ?? null, has: (name) => byName.has(name.toLowerCase()) },
    body:
      bytes === undefined
        ? null
        : (async function* () {
            yield bytes;
          })(),
  };
}

/** The response of a route handler, read whole. */
async function toApiResponse({ status, headers, body }: RouteResponse): Promise<ApiResponse> {
  const bytes = isStreamed(body) ? await buffer(body) : Buffer.from(body ?? "");
  const entries = Object.entries(headers).map(
    ([name, value]) => [name.toLowerCase(), [value].flat().join(", ")] as const,
  );
  const byName = new Map(entries);
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => byName.get(name.toLowerCase()) ?? null },
    body: null,
    text: async () => bytes.toString(),
    json: async () => JSON.parse(bytes.toString()),
  };
}
