import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { currentContext } from "../../../context";
import { AppError, ERRORS, type ErrorCode } from "../../../errors";
import { problemResponse } from "../problem";
import { securityHeaders } from "../security-headers";
import { hasLongBody } from "./node-request";
import { formatResponse } from "./send";

/** How many requests of one connection may wait for the responses before theirs. */
const MAX_PIPELINED = 100;
/** The route of requests that the parser refuses, in logs and metrics. */
const UNPARSED = "(refused)";
/** By the code of the parser's error. Every other error is malformed_request. */
const PARSER_ERROR_CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "payload_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

/** `latest` is the response to the connection's latest request. */
type ConnectionState = { latest: ServerResponse; waiting: number };
const states = new WeakMap<Duplex, ConnectionState>();

/**
 * Handles one request of a connection at a time; Node emits all requests of a packet at once. Closes a connection with
 * too many waiting requests: its client may repeat those without a response (RFC 9112, 9.3.2).
 */
export function handleInOrder({ socket }: IncomingMessage, outgoing: ServerResponse, handle: () => void): void {
  const state = states.get(socket);
  if (!state) states.set(socket, { latest: outgoing, waiting: 0 });
  else state.latest = outgoing;
  if (!state || outgoing.socket) {
    handle();
  } else if (state.waiting >= MAX_PIPELINED) {
    socket.destroy();
  } else {
    state.waiting += 1;
    outgoing.once("socket", () => {
      state.waiting -= 1;
      handle();
    });
  }
}

/**
 * Responds to what is not HTTP, arrives too slowly or has too large headers, and closes the connection. Without a
 * response if it would interrupt the response to an earlier request.
 */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  const latest = states.get(socket)?.latest;
  // Node reports a request once. From then on, only the socket's timeout limits the upload.
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && latest && hasLongBody(latest.req)) return;
  const isResponding = latest !== undefined && !latest.writableFinished;
  const isInterrupting = isResponding && (latest.headersSent || latest.socket !== socket);
  if (error.code === "ECONNRESET" || !socket.writable || isInterrupting) return void socket.destroy();
  const refusal = new AppError(PARSER_ERROR_CODES[error.code ?? ""] ?? "malformed_request");
  const requestId = randomUUID();
  // A request whose body is malformed is logged by its own handler.
  if (!isResponding) recordRejectedRequest(requestId, "other", refusal);
  writeErrorResponse(socket, requestId, refusal);
}

/** Refuses CONNECT: the service is not a proxy. */
export function refuseConnect(_incoming: IncomingMessage, socket: Duplex): void {
  socket.on("error", () => {}); // Node has removed its own listener
  const refusal = new AppError("method_not_allowed", { headers: { Allow: "GET, HEAD, OPTIONS" } });
  const requestId = randomUUID();
  recordRejectedRequest(requestId, "CONNECT", refusal);
  writeErrorResponse(socket, requestId, refusal);
}

function recordRejectedRequest(requestId: string, method: string, { code }: AppError): void {
  const record = { requestId, method, route: UNPARSED, status: ERRORS[code][0], ms: 0 };
  currentContext().observe(record, null);
}

/** Writes a connection's last response to the socket: Node has no ServerResponse for it. */
function writeErrorResponse(socket: Duplex, requestId: string, error: AppError): void {
  const { config } = currentContext();
  const { status, headers, body } = problemResponse(error, requestId, config.baseUrl);
  const own = { "Cache-Control": "private, no-store", ...securityHeaders(config), "X-Request-Id": requestId };
  socket.end(formatResponse(status, { ...headers, ...own }, String(body)));
}
