import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import type { RequestRecord } from "@/lib/context";
import { declare } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import { createHttpServer } from "@/lib/platform/http/server/http-server";
import type { NextHandler } from "@/lib/platform/http/server/next-page";
import { createRouteTable, type Responder } from "@/lib/platform/http/server/routes";
import { type ResponseBody, RouteResponse } from "@/lib/platform/http-message";
import { withContext } from "@/tests/support/context";

export type TestServer = {
  server: Server;
  open: () => Promise<Socket>;
  /** Sends bytes as they are; everything that comes back until the server closes. */
  exchange: (...parts: string[]) => Promise<string>;
  /** How many connections are open. */
  connections: () => Promise<number>;
};

/** A route whose response has the body that `body` returns. */
export const testRoute = (path: string, body: () => ResponseBody) =>
  defineRoute(path, {
    GET: declare({
      summary: "A route of a test",
      database: false,
      response: { status: 200, schema: null },
      writes: "raw",
      run: () => new RouteResponse(200, body()),
    }),
  });

/** The HTTP server over some routes and a substitute for Next, which may still be loading, for one test. */
export async function openTestServer(
  routes: Record<string, Responder>,
  next: NextHandler | Promise<NextHandler> = async () => {},
  options?: Parameters<typeof createHttpServer>[2],
): Promise<TestServer> {
  const server: Server = createHttpServer(createRouteTable(new Map(Object.entries(routes))), async () => next, options);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const open = async () => {
    const socket = connect(port, "127.0.0.1").on("error", () => {}); // a server may close before it has read everything
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  return {
    server,
    open,
    exchange: async (...parts) => exchangeOver(await open(), parts),
    connections: () => promisify(server.getConnections.bind(server))(),
  };
}

async function exchangeOver(socket: Socket, parts: string[]): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  const closed = once(socket, "close");
  for (const part of parts) socket.write(Buffer.from(part, "latin1"));
  await closed;
  return text;
}

/** A request, the last on its connection. */
export const httpRequest = (target: string, headers: string[] = [], method = "GET") =>
  [`${method} ${target} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, "", ""].join("\r\n");

export type RawResponse = { status: number; headers: Record<string, string>; body: string };

/** The first answer in what came over a connection. */
export function parseResponse(text: string): RawResponse {
  const [head = "", body = ""] = text.split(/\r\n\r\n(.*)/s);
  const [line, ...fields] = head.split("\r\n");
  const headers = fields
    .map((field) => field.split(/: (.*)/s))
    .map(([name = "", value = ""]) => [name.toLowerCase(), value]);
  return { status: Number(line?.split(" ")[1]), headers: Object.fromEntries(headers), body };
}

/** A route whose response is "hello". */
export const hello = testRoute("/api/hello", () => "hello");

/** Replaces Next. Responds with the URL and the headers of the request that it receives. */
export const echo: NextHandler = async ({ url, headers }, outgoing) => {
  outgoing.setHeader("Content-Type", "text/html");
  outgoing.end(JSON.stringify({ url, headers }));
};

/** A problem document as the HTTP server has to send it. */
export function expectProblem({ status, headers, body }: RawResponse, code: string): void {
  expect(headers).toMatchObject({
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
  });
  expect(JSON.parse(body)).toMatchObject({ code, status, requestId: headers["x-request-id"] });
}

/** The requests that are logged while `run` runs. */
export async function recordsOf(run: () => Promise<void>): Promise<RequestRecord[]> {
  const records: RequestRecord[] = [];
  await withContext({ observe: (record) => void records.push(record) }, run);
  return records;
}
