import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { finished, pipeline } from "node:stream/promises";
import { isStreamed, type RouteResponse } from "../../http-message";

/** How many responses may wait for the end of the event loop's turn: a bound for the first one's delay. */
const MAX_UNSENT = 64;
type Unsent = { outgoing: ServerResponse; body: string | Uint8Array | null };
let unsent: Unsent[] = [];

/**
 * Writes a response. One that refuses an upload is the last of its connection, and the rest of the upload is read and
 * discarded until the client has finished or `requestTimeout` ends it: closing earlier could lose the response
 * (RFC 9112, 9.6). @throws TypeError for a header that Node rejects
 */
export function sendResponse(incoming: IncomingMessage, outgoing: ServerResponse, response: RouteResponse): void {
  const { status, headers, body } = response;
  const hasUpload = leavesBodyUnread(incoming);
  if (hasUpload) outgoing.shouldKeepAlive = false;
  outgoing.writeHead(status, headers);
  if (isStreamed(body)) return void stream(outgoing, body);
  if (!hasUpload) return void endTogether({ outgoing, body });
  outgoing.write(body ?? "");
  const end = () => void outgoing.end();
  finished(incoming.resume()).then(end, end);
}

/**
 * Ends a response together with the others of this turn of the event loop. Separate writes would each wake a client
 * that has already read the previous response and is asleep. Under load, that takes a third of the CPU time of a short
 * response.
 */
function endTogether(response: Unsent): void {
  unsent.push(response);
  if (unsent.length === 1) setImmediate(endUnsent);
  else if (unsent.length >= MAX_UNSENT) endUnsent();
}

function endUnsent(): void {
  const responses = unsent;
  unsent = [];
  for (const { outgoing, body } of responses) {
    try {
      outgoing.end(body);
    } catch {
      outgoing.destroy(); // the others are sent all the same
    }
  }
}

/** A connection's last response as text, for a connection without a ServerResponse. */
export function formatResponse(status: number, headers: RouteResponse["headers"], body: string): string {
  const all = { ...headers, Connection: "close", Date: new Date().toUTCString() };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", body].join("\r\n");
}

/** Whether a body is still arriving. `complete` alone is not enough: it is set later, even without a body. */
function leavesBodyUnread({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0");
}

/** Sends bytes as fast as the client reads them. An error breaks the connection. */
async function stream(outgoing: ServerResponse, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(bytes, outgoing);
  } catch {
    outgoing.destroy(); // the client is gone or stalled, or the source has failed and logged it
  }
}
