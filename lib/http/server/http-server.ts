import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { currentContext } from "../../context";
import { AppError, isAppError } from "../../errors";
import { defineRoute, respondWithError } from "../route";
import { requestId } from "../route-request";
import type { RouteResponse } from "../route-response";
import { handleInOrder, refuseConnect, refuseMalformed } from "./connections";
import type { NextHandler } from "./next-page";
import { NodeRequest } from "./node-request";
import { createPageResponder, UNMATCHED } from "./pages";
import { findRoute, type RouteMatch, type RouteTable } from "./routes";
import { sendResponse } from "./send";
import { parseTarget, type Target } from "./target";

/** A connection on which nothing moves for so long is cut, as one whose reader takes nothing of a download. */
const SOCKET_TIMEOUT_MS = 120_000;
/** For clients that send a byte a second. Connections kept for later outlast a proxy's. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1024,
  requireHostHeader: false, // parseTarget refuses it, with a problem document
};
/** `OPTIONS *` (RFC 9112, 3.2.4). */
const ASTERISK_ROUTE: RouteMatch = { path: "*", responder: defineRoute("*", {}), params: undefined };
/** What Next reads of a request for a file. */
const FILE_HEADERS = ["accept-encoding", "if-modified-since", "if-none-match", "if-range", "range"];

/** A request and where its answer goes. */
type Exchange = { incoming: IncomingMessage; outgoing: ServerResponse; request: NodeRequest; expectsContinue: boolean };
/** Answers a request; null where Next has written the answer. */
type Respond = (
  exchange: Exchange,
  target: Target,
  found: RouteMatch | null,
) => RouteResponse | Promise<RouteResponse | null>;

/** `socketTimeoutMs`: how long nothing may move on a connection; `maxRenderMs`: how long a page may take to render. */
type Options = { socketTimeoutMs?: number; maxRenderMs?: number };

/** The one HTTP server: routes are answered here, pages are rendered by Next. */
export function createHttpServer(routes: RouteTable, next: NextHandler, options: Options = {}): Server {
  const { socketTimeoutMs = SOCKET_TIMEOUT_MS, maxRenderMs } = options;
  const respond = createResponder(routes, next, maxRenderMs);
  const listen = (expectsContinue: boolean) => (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const request = new NodeRequest(incoming, expectsContinue ? () => outgoing.writeContinue() : undefined);
    handleInOrder(incoming, outgoing, () => handle({ incoming, outgoing, request, expectsContinue }, routes, respond));
  };
  const server = createServer(LIMITS);
  server.maxHeadersCount = 0; // maxHeaderSize bounds them, and none may be left out
  server.setTimeout(socketTimeoutMs);
  server.on("request", listen(false));
  server.on("checkContinue", listen(true));
  server.on("checkExpectation", listen(false)); // others may be ignored (RFC 9110, 10.1.1)
  server.on("connect", refuseConnect);
  server.on("clientError", refuseMalformed);
  return server;
}

function handle(exchange: Exchange, routes: RouteTable, respond: Respond): void {
  const { incoming, outgoing, request } = exchange;
  let path = UNMATCHED;
  const refuse = (error: unknown) => {
    if (outgoing.headersSent) return void outgoing.destroy();
    for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name); // Next's, for what failed
    if (isAppError(error) && error.code === "malformed_request") outgoing.shouldKeepAlive = false;
    sendResponse(incoming, outgoing, respondWithError(path, request, error));
  };
  const send = (answer: RouteResponse | null) => {
    if (answer === null) return;
    if (currentContext().draining) outgoing.shouldKeepAlive = false;
    try {
      sendResponse(incoming, outgoing, answer);
    } catch (error) {
      refuse(error); // a header that Node refuses
    }
  };
  try {
    const target = parseTarget(incoming);
    request.url = target.pathname + target.search;
    const found = target.pathname === "*" ? ASTERISK_ROUTE : findRoute(routes, target.pathname);
    if (found) path = found.path;
    const made = respond(exchange, target, found);
    if (made instanceof Promise) made.then(send, refuse);
    else send(made);
  } catch (error) {
    refuse(error);
  }
}

function createResponder(routes: RouteTable, next: NextHandler, maxRenderMs?: number): Respond {
  const answerPage = createPageResponder(next, maxRenderMs);
  return (exchange, { pathname, search }, found) => {
    const { incoming, request } = exchange;
    if (typeof found?.responder === "object") {
      const { responder, params } = found;
      const answer = responder[request.method]?.respond ?? responder.GET?.other;
      if (!answer) throw new AppError("not_found");
      return answer(request, { params, remoteAddress: incoming.socket.remoteAddress });
    }
    if (found?.responder === "next") return handOver(exchange, found, next);
    requireRead(request, found);
    if (found?.responder === "file") return handOver(exchange, found, next);
    const bare = pathname.replace(/(?<=[^/])\/$/, "");
    const movedTo = !found && findRoute(routes, bare)?.responder === "page" ? bare + search : undefined;
    const isAborted = () => incoming.socket.destroyed;
    return answerPage({ path: found?.path ?? null, search, movedTo, head: request, isAborted });
  };
}

/** Pages and files are read. @throws AppError not_found, method_not_allowed */
function requireRead({ method }: NodeRequest, found: RouteMatch | null): void {
  if (method === "GET" || method === "HEAD") return;
  throw found ? new AppError("method_not_allowed", { headers: { Allow: "GET, HEAD" } }) : new AppError("not_found");
}

/** Lets Next write the answer itself, and logs it once it is written. */
async function handOver(exchange: Exchange, { path, responder }: RouteMatch, next: NextHandler): Promise<null> {
  const { incoming, outgoing, request, expectsContinue } = exchange;
  const { config, draining, observe } = currentContext();
  const startedMs = performance.now();
  const id = requestId(request);
  incoming.url = request.url;
  if (responder === "file") incoming.headers = fileHeaders(incoming.headers, new URL(config.baseUrl).host);
  if (draining) outgoing.shouldKeepAlive = false;
  if (expectsContinue) outgoing.writeContinue();
  outgoing.setHeader("X-Request-Id", id);
  outgoing.once("close", () => {
    const record = { requestId: id, method: request.method, route: path, status: outgoing.statusCode };
    observe({ ...record, ms: performance.now() - startedMs }, null);
  });
  await next(incoming, outgoing);
  return null;
}

function fileHeaders(given: IncomingMessage["headers"], host: string): IncomingMessage["headers"] {
  return { host, ...Object.fromEntries(FILE_HEADERS.flatMap((name) => (name in given ? [[name, given[name]]] : []))) };
}
