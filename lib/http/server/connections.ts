import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { currentContext } from "../../context";
import { AppError, ERRORS, type ErrorCode } from "../../errors";
import { problemResponse } from "../problem";
import { formatResponse } from "./send";

/** Requests on one connection that wait for the answers before theirs. */
const MAX_PIPELINED = 100;

/** The answer to a connection's latest request, and how many of its requests wait. */
type ConnectionState = { latest: ServerResponse; waiting: number };
const states = new WeakMap<Duplex, ConnectionState>();

/**
 * Handles one request of a connection at a time: Node hands over at once all that a packet holds. A connection on
 * which too many wait is cut, and its client may send again what was not answered (RFC 9112, 9.3.2).
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

/** The route of what never became a request, in the log. */
const UNPARSED = "(refused)";
/** What Node's parser refuses, by the code of its error; anything else is malformed. */
const PARSER_ERROR_CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "payload_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

/**
 * Answers what is no HTTP, came too slowly or has too large headers, and closes. Where another request of the
 * connection is still being answered, nothing may be written between.
 */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  const latest = states.get(socket)?.latest;
  const isAnswering = latest !== undefined && !latest.writableFinished;
  const isBetween = isAnswering && (latest.headersSent || latest.socket !== socket);
  if (error.code === "ECONNRESET" || !socket.writable || isBetween) return void socket.destroy();
  const refusal = new AppError(PARSER_ERROR_CODES[error.code ?? ""] ?? "malformed_request");
  const requestId = randomUUID();
  // A request whose body broke has a line of its own.
  if (!isAnswering) logRefusal(requestId, "other", refusal);
  refuse(socket, requestId, refusal);
}

/** Nobody is connected to anywhere else. */
export function refuseConnect(_incoming: IncomingMessage, socket: Duplex): void {
  socket.on("error", () => {}); // Node listens to it no more
  const refusal = new AppError("method_not_allowed", { headers: { Allow: "GET, HEAD, OPTIONS" } });
  const requestId = randomUUID();
  logRefusal(requestId, "CONNECT", refusal);
  refuse(socket, requestId, refusal);
}

function logRefusal(requestId: string, method: string, { code }: AppError): void {
  const record = { requestId, method, route: UNPARSED, status: ERRORS[code][0], ms: 0 };
  currentContext().observe(record, null);
}

/** Sends the last answer of a connection, past Node's own. */
function refuse(socket: Duplex, requestId: string, error: AppError): void {
  const { status, headers, body } = problemResponse(error, requestId, currentContext().config.baseUrl);
  const own = { "Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff", "X-Request-Id": requestId };
  socket.end(formatResponse(status, { ...headers, ...own }, String(body)));
}
