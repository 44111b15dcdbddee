import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { finished, pipeline } from "node:stream/promises";
import { isStreamed, type RouteResponse } from "../route-response";

/**
 * Writes an answer. One that refuses an upload is the last on its connection, and what is still sent is read and
 * thrown away until the client has finished or `requestTimeout` ends it: a close before that could cost it the
 * answer (RFC 9112, 9.6). @throws TypeError for a header that Node refuses
 */
export function sendResponse(incoming: IncomingMessage, outgoing: ServerResponse, answer: RouteResponse): void {
  const { status, headers, body } = answer;
  const hasUpload = leavesBodyUnread(incoming);
  if (hasUpload) outgoing.shouldKeepAlive = false;
  outgoing.writeHead(status, headers);
  if (isStreamed(body)) return void stream(outgoing, body);
  if (!hasUpload) return void outgoing.end(body);
  outgoing.write(body ?? "");
  const end = () => void outgoing.end();
  finished(incoming.resume()).then(end, end);
}

/** An answer as it goes over a connection that Node has no request for. It is the last there. */
export function formatResponse(status: number, headers: RouteResponse["headers"], body: string): string {
  const all = { ...headers, Connection: "close", Date: new Date().toUTCString() };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", body].join("\r\n");
}

/** An upload was refused before its end. A request without a body is complete only later. */
function leavesBodyUnread({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0");
}

/** Sends bytes as fast as the reader takes them. A body that cannot be finished breaks the connection. */
async function stream(outgoing: ServerResponse, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(bytes, outgoing);
  } catch {
    outgoing.destroy(); // gone, stalled, or the file's fault, which its reader has logged
  }
}
