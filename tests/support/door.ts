import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { Readable } from "node:stream";
import next from "next";
import { responders } from "@/app/routes.generated";
import { createHttpServer } from "@/lib/http/server/http-server";
import type { NextHandler } from "@/lib/http/server/next-page";
import { createRouteTable } from "@/lib/http/server/routes";
import { listStaticFiles } from "@/lib/http/server/static-files";

/**
 * How the API tests reach the routes: "handler" calls them, "npm" goes through the HTTP server of `npm start`,
 * "next" through that of `next start`. Both servers run in the tests' process, on the tests' context.
 */
export const door = (process.env.DOOR ?? "handler") as "handler" | "npm" | "next";

let port = 0;

/** The Content-Length that an answer of so many bytes has: Next drops it from what route handlers return. */
export const contentLength = (bytes: number): string | null => (door === "next" ? null : String(bytes));

/** Opens the door on a free port, once a worker, over the build in .next. */
export async function openDoor(): Promise<void> {
  if (door === "handler" || port !== 0) return;
  const app = next({ dev: false, dir: path.resolve(".") });
  await app.prepare();
  const handler = app.getRequestHandler();
  const server: Server =
    door === "npm"
      ? createHttpServer(createRouteTable(responders, listStaticFiles()), async () => onlyPages(handler))
      : createServer((incoming, outgoing) => void handler(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  port = (server.address() as AddressInfo).port;
}

/** Every test of a route fails where the front door leaves it to Next. */
function onlyPages(next: NextHandler): NextHandler {
  return async (incoming, outgoing) => {
    if (!/^\/(api|forms)/.test(incoming.url ?? "")) return next(incoming, outgoing);
    outgoing.writeHead(599, "Not answered directly").end();
  };
}

/** Sends a request through the door, byte for byte as a client would. */
export async function knock(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const sent = httpRequest({
    port,
    host: "127.0.0.1",
    method: request.method,
    path: pathname + search,
    headers: Object.fromEntries(request.headers),
  });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  if (request.body) {
    Readable.fromWeb(request.body as Parameters<typeof Readable.fromWeb>[0])
      .on("error", () => {})
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
