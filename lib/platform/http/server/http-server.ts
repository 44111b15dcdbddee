import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { currentContext } from "../../../context";
import { AppError, isAppError } from "../../../errors";
import { type RouteResponse, requestId } from "../../http-message";
import { clientNetwork } from "../client-ip";
import { defineRoute, respondWithError } from "../route";
import { securityHeaders } from "../security-headers";
import { handleInOrder, refuseConnect, refuseMalformed } from "./connections";
import { type LoadNext, withTimeout } from "./next-page";
import { NodeRequest } from "./node-request";
import { createPageResponder, UNMATCHED } from "./pages";
import { findRoute, type RouteMatch, type RouteTable } from "./routes";
import { sendResponse } from "./send";
import { parseTarget, type RequestTarget } from "./target";

/** What a client must read of a response that waits for it, unless a proxy is between them. */
const MIN_READ_BYTES_PER_SECOND = 1024;
const SWEEP_INTERVAL_MS = 1_000;

/** The parts of Node's socket that count what the system has taken. Its own timeout uses them, too. */
type Counters = { _handle?: { bytesWritten: number; writeQueueSize: number } | null };

/**
 * Closes connections whose clients read nothing for `timeoutMs` although a response waits for them, or less than
 * `minBytesPerSecond` in that time. Node's own timeout takes twice as long, because it first notices that the last write
 * has progressed. A trusted proxy reads as fast as its client, which it limits itself: only reading nothing counts.
 */
function closeSlowReaders(server: Server, timeoutMs: number, minBytesPerSecond: number): void {
  /** How much of each connection's responses the system had taken at a time. */
  const waiting = new Map<Socket, { sentBytes: number; atMs: number } | undefined>();
  server.on("connection", (socket) => {
    waiting.set(socket, undefined);
    socket.once("close", () => waiting.delete(socket));
  });
  const sweep = () => {
    const isDirect = currentContext().config.TRUSTED_PROXY_HOPS === 0;
    const minBytes = isDirect ? (minBytesPerSecond * timeoutMs) / 1000 : 1;
    const nowMs = performance.now();
    for (const [socket, since] of waiting) {
      const progress = { sentBytes: sentBytesOf(socket), atMs: nowMs };
      if (socket.writableLength === 0) waiting.set(socket, undefined);
      else if (!since || progress.sentBytes - since.sentBytes >= minBytes) waiting.set(socket, progress);
      else if (nowMs - since.atMs >= timeoutMs) socket.destroy();
    }
  };
  const timer = setInterval(sweep, SWEEP_INTERVAL_MS).unref();
  server.once("close", () => clearInterval(timer));
}

function sentBytesOf(socket: Socket): number {
  const { _handle: handle } = socket as Counters;
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

/** How many responses a process streams to one IP, or to one IPv6 network (/64), at a time. */
export const MAX_STREAMS_PER_IP = 100;
const RETRY_AFTER_SECONDS = 10;

/** How many responses are being streamed to each client network. */
const streams = new Map<string, number>();

/**
 * Counts a response as a stream to its client until it is closed. Behind a trusted proxy nothing is counted, because every
 * socket has the proxy's IP. @throws AppError rate_limited, if too many run
 */
function admitStream(outgoing: ServerResponse, socketIp: string | undefined): void {
  const { RATE_LIMITS, TRUSTED_PROXY_HOPS } = currentContext().config;
  if (socketIp === undefined || TRUSTED_PROXY_HOPS > 0 || RATE_LIMITS === "off" || outgoing.closed) return;
  const network = clientNetwork(new Headers(), socketIp, 0);
  const count = streams.get(network) ?? 0;
  if (count >= MAX_STREAMS_PER_IP) {
    const headers = {
      "RateLimit-Policy": `"streamsByIp";q=${MAX_STREAMS_PER_IP};qu="concurrent-requests"`,
      RateLimit: '"streamsByIp";r=0',
    };
    const detail = `At most ${MAX_STREAMS_PER_IP} downloads to one IP run at a time.`;
    throw new AppError("rate_limited", { detail, retryAfterSeconds: RETRY_AFTER_SECONDS, headers });
  }
  streams.set(network, count + 1);
  outgoing.once("close", () => {
    const rest = (streams.get(network) ?? 1) - 1;
    if (rest > 0) streams.set(network, rest);
    else streams.delete(network);
  });
}

/** An inactive connection is closed after this time, also one whose client stops reading a response. */
const SOCKET_TIMEOUT_MS = 120_000;
/** How long a page or a file may wait until Next is loaded, and how long a page may take to render. */
const MAX_RENDER_MS = 30_000;
const SERVER_OPTIONS = {
  // Bound clients that send one byte a second.
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000, // longer than a proxy keeps an idle connection
  maxHeaderSize: 16 * 1024,
  requireHostHeader: false, // parseTarget checks it and responds with a problem document
};
/** `OPTIONS *` (RFC 9110, 9.3.7). */
const ASTERISK_ROUTE: RouteMatch = { path: "*", responder: defineRoute("*", {}), params: undefined };
/** Instead of a page or a file, if the URL has an API key: like every route, it refuses and revokes the key. */
const KEY_ROUTE: RouteMatch["responder"] = defineRoute(UNMATCHED, {});
/** The request headers that Next reads when it sends a file. */
const FILE_HEADERS = ["accept-encoding", "if-modified-since", "if-none-match", "if-range", "range"];

type HttpExchange = {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  request: NodeRequest;
  expectsContinue: boolean;
};
/** Responds to a request. Null: Next has written the response. */
type Respond = (
  exchange: HttpExchange,
  target: RequestTarget,
  match: RouteMatch | null,
) => Promise<RouteResponse | null>;

type Options = { socketTimeoutMs?: number; maxRenderMs?: number; minReadBytesPerSecond?: number };

/**
 * The HTTP server of `npm start`. It runs route handlers itself; pages and files go to Next, which the first of them
 * loads.
 */
export function createHttpServer(routes: RouteTable, loadNext: LoadNext, options: Options = {}): Server {
  const { socketTimeoutMs = SOCKET_TIMEOUT_MS, maxRenderMs = MAX_RENDER_MS } = options;
  const { minReadBytesPerSecond = MIN_READ_BYTES_PER_SECOND } = options;
  const load = () => withTimeout(maxRenderMs, loadNext(), () => new AppError("overloaded"));
  const respond = createResponder(routes, load, maxRenderMs);
  const listener = (expectsContinue: boolean) => (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const request = new NodeRequest(incoming, expectsContinue ? () => outgoing.writeContinue() : undefined);
    const exchange = { incoming, outgoing, request, expectsContinue };
    handleInOrder(incoming, outgoing, () => void handle(exchange, routes, respond));
  };
  const server = createServer(SERVER_OPTIONS);
  server.maxHeadersCount = 0; // no limit: maxHeaderSize is one, and Node drops headers beyond the count
  server.setTimeout(socketTimeoutMs);
  closeSlowReaders(server, socketTimeoutMs, minReadBytesPerSecond);
  server.on("request", listener(false));
  server.on("checkContinue", listener(true));
  server.on("checkExpectation", listener(false)); // unknown expectations may be ignored (RFC 9110, 10.1.1)
  server.on("connect", refuseConnect);
  server.on("clientError", refuseMalformed);
  return server;
}

async function handle(exchange: HttpExchange, routes: RouteTable, respond: Respond): Promise<void> {
  const { incoming, outgoing, request } = exchange;
  let path = UNMATCHED;
  try {
    const target = parseTarget(incoming);
    request.url = target.pathname + target.search;
    const match = target.pathname === "*" ? ASTERISK_ROUTE : findRoute(routes, target.pathname);
    if (match) path = match.path;
    const response = await respond(exchange, target, match);
    if (response === null) return;
    if (currentContext().isDraining) outgoing.shouldKeepAlive = false;
    sendResponse(incoming, outgoing, response); // throws if Node rejects a header
  } catch (error) {
    if (outgoing.headersSent) return void outgoing.destroy();
    for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name); // set by Next before it failed
    const isMalformed = isAppError(error) && error.code === "malformed_request";
    if (isMalformed || currentContext().isDraining) outgoing.shouldKeepAlive = false;
    sendResponse(incoming, outgoing, respondWithError(path, request, error));
  }
}

function createResponder(routes: RouteTable, loadNext: LoadNext, maxRenderMs: number): Respond {
  const respondWithPage = createPageResponder(loadNext, maxRenderMs);
  return (exchange, { pathname, search }, match) => {
    const { incoming, outgoing, request } = exchange;
    const socketIp = incoming.socket.remoteAddress;
    const isRoute = typeof match?.responder === "object";
    const responder =
      !isRoute && currentContext().authentication.hasKeyInUrl(request.url) ? KEY_ROUTE : match?.responder;
    if (typeof responder === "object") {
      const handler = responder[request.method]?.respond ?? responder.GET?.respondToOther;
      if (!handler) throw new AppError("not_found");
      return handler(request, { params: match?.params, socketIp, admitStream: () => admitStream(outgoing, socketIp) });
    }
    requireRead(request, match);
    if (match?.responder === "file") return sendFile(exchange, match, loadNext);
    const withoutSlash = pathname.replace(/(?<=[^/])\/$/, "");
    const movedTo = !match && isPage(findRoute(routes, withoutSlash)) ? withoutSlash + search : undefined;
    if (!match && !movedTo && !acceptsHtml(request)) throw new AppError("not_found");
    const isAborted = () => incoming.socket.destroyed;
    return respondWithPage({ match, pathname, search, movedTo, head: request, socketIp, isAborted });
  };
}

function isPage(match: RouteMatch | null): boolean {
  return match?.responder === "page" || match?.responder === "static page";
}

/** Pages and files have no other methods. @throws AppError not_found, method_not_allowed */
function requireRead({ method }: NodeRequest, match: RouteMatch | null): void {
  if (method === "GET" || method === "HEAD") return;
  throw match ? new AppError("method_not_allowed", { headers: { Allow: "GET, HEAD" } }) : new AppError("not_found");
}

/** Whether the not-found page is acceptable (RFC 9110, 12.5.1). Others get a problem document. */
function acceptsHtml({ headers }: NodeRequest): boolean {
  return /(?:^|[,\s])(?:text\/html|text\/\*|\*\/\*)/i.test(headers.get("accept") ?? "*/*");
}

/** Lets Next write the response, and records the request when the response is complete. */
async function sendFile(exchange: HttpExchange, { path }: RouteMatch, loadNext: LoadNext): Promise<null> {
  const { incoming, outgoing, request, expectsContinue } = exchange;
  const { config, isDraining, observe } = currentContext();
  const startedMs = performance.now();
  const id = requestId(request);
  const next = await loadNext();
  admitStream(outgoing, incoming.socket.remoteAddress);
  incoming.url = request.url;
  const { headers } = incoming;
  const read = FILE_HEADERS.flatMap((name) => (name in headers ? [[name, headers[name]]] : []));
  incoming.headers = { host: new URL(config.baseUrl).host, ...Object.fromEntries(read) };
  if (isDraining) outgoing.shouldKeepAlive = false;
  if (expectsContinue) outgoing.writeContinue();
  for (const [name, value] of Object.entries(securityHeaders(config))) outgoing.setHeader(name, value);
  outgoing.setHeader("X-Request-Id", id);
  await next(incoming, outgoing);
  const record = { requestId: id, method: request.method, route: path };
  const finish = () => observe({ ...record, status: outgoing.statusCode, ms: performance.now() - startedMs }, null);
  if (outgoing.closed) finish();
  else outgoing.once("close", finish);
  return null;
}
