import { createServer } from "node:http";
import type { Context } from "../../../context";

export type Address = { port: number; host: string };

/** Limits how long a slow client can hold a connection. */
const SERVER_LIMITS = { headersTimeout: 5_000, requestTimeout: 5_000 };

/**
 * Serves metrics in Prometheus's text format at `GET /metrics`. Returns what ends the server.
 * @throws Error if the server cannot listen
 */
export async function serveMetrics(
  read: () => Promise<string>,
  contentType: string,
  log: Context["log"],
  { port, host }: Address,
): Promise<() => Promise<void>> {
  const server = createServer(SERVER_LIMITS, async ({ method, url }, response) => {
    response.setHeader("X-Content-Type-Options", "nosniff");
    if ((method !== "GET" && method !== "HEAD") || url !== "/metrics") return void response.writeHead(404).end();
    try {
      const text = await read();
      response.writeHead(200, { "Content-Type": contentType }).end(text);
    } catch (error) {
      log.error({ err: error }, "could not collect metrics");
      response.writeHead(500).end();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const inUse = `Port ${port} is in use. Set METRICS_PORT to another port.`;
      reject(new Error(error.code === "EADDRINUSE" ? inUse : `METRICS_HOST, METRICS_PORT: ${error.message}`));
    });
    server.listen(port, host, resolve);
  });
  log.info({ port, host }, "serving metrics at /metrics");
  return () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
}
