import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { Readable } from "node:stream";
import next from "next";
import { onTestFinished } from "vitest";
import { responders } from "@/app/routes.generated";
import { createHttpServer } from "@/lib/platform/http/server/http-server";
import type { NextHandler } from "@/lib/platform/http/server/next-page";
import { createRouteTable } from "@/lib/platform/http/server/routes";

/**
 * The HTTP server that the tests call routes through: that of `npm start` or that of `next start`. Both run in the
 * process of the tests, on their context. Without TEST_SERVER the tests call the route handlers themselves.
 */
const testServer = process.env.TEST_SERVER as "start" | "next" | undefined;

/** Whether tests call the route handlers themselves, without a server. */
export const callsHandlers = testServer === undefined;

let port = 0;

/** The Content-Length of a response with a body of this size: Next drops it from the responses of route handlers. */
export const contentLength = (bytes: number): string | null => (testServer === "next" ? null : String(bytes));

/** Starts the server on a free port, once a worker. That of `next start` needs the build in .next. */
export async function openServer(): Promise<void> {
  if (callsHandlers || port !== 0) return;
  const server = testServer === "start" ? serverOfStart() : await serverOfNext();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  port = (server.address() as AddressInfo).port;
}

/** Serves the routes of this process over HTTP until the test ends, for clients that need a URL. */
export async function serveRoutes(): Promise<string> {
  const server = serverOfStart();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Fails every test of a route that the server leaves to Next. */
function serverOfStart(): Server {
  const leftToNext: NextHandler = async (_, outgoing) => void outgoing.writeHead(599, "Left to Next").end();
  return createHttpServer(createRouteTable(responders, new Map()), async () => leftToNext);
}

async function serverOfNext(): Promise<Server> {
  const app = next({ dev: false, dir: path.resolve(".") });
  await app.prepare();
  const handle = app.getRequestHandler();
  return createServer((incoming, outgoing) => void handle(incoming, outgoing));
}

/** Sends a request to the server, byte for byte as a client would. */
export async function sendToServer(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  // Node sends the body of a DELETE without any framing otherwise.
  const isChunked = request.body !== null && !request.headers.has("content-length");
  const sent = httpRequest({
    port,
    host: "127.0.0.1",
    method: request.method,
    signal: request.signal,
    path: pathname + search,
    headers: { ...Object.fromEntries(request.headers), ...(isChunked ? { "transfer-encoding": "chunked" } : {}) },
  });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  if (request.body) {
    Readable.fromWeb(request.body as Parameters<typeof Readable.fromWeb>[0])
      .on("error", (error) => sent.destroy(error))
      .pipe(sent);
  } else sent.end();
  const [incoming] = await answered;
  return toResponse(incoming, request.method);
}

function toResponse(incoming: IncomingMessage, method: string): Response {
  const headers = new Headers();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  const status = incoming.statusCode ?? 0;
  const isEmpty = method === "HEAD" || [204, 304].includes(status);
  if (isEmpty) incoming.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream), { status, headers });
}
