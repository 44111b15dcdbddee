import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type Socket, Server as SocketServer } from "node:net";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import next from "next";
import { startBackground } from "./lib/background";
import { composeContext } from "./lib/compose";
import { type Config, loadConfig } from "./lib/config";
import { type Context, setContext } from "./lib/context";
import { greeting } from "./lib/greeting";
import { createHttpServer } from "./lib/http/server/http-server";
import { loadRoutes } from "./lib/http/server/load-routes";
import { logConsole } from "./lib/telemetry/log";

/** How long requests in flight may take to finish once the process was asked to stop. */
const DRAIN_MS = 25_000;
/** As many connections as the kernel keeps for the process to accept: what `server.listen` asks for. */
const MAX_BACKLOG = 511;
/** How long a connection without a request is still kept then: one may be on its way. */
const LINGER_MS = 1_000;
const SWEEP_MS = 100;
/** How long mail on its way and the database may take after that. */
const CLOSE_MS = 15_000;

/** Opens everything, listens, and stops in order when asked to. */
async function main(): Promise<void> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  const config = loadConfig();
  const context = await composeContext(config);
  setContext(context);
  dieOnUnhandled(context.log);
  logConsole(context.log);
  // With a server of its own to listen on Next leaves ours alone: it would end every connection that offers h2c.
  const app = next({ dev: false, hostname: config.HOST, port: config.PORT, httpServer: createServer() });
  await app.prepare();
  const server = createHttpServer(await loadRoutes(".next/server", "public"), app.getRequestHandler());
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  await listen(server, config);
  startBackground(context);
  stopOnSignals(context, server, sockets);
  if (process.stdout.isTTY) process.stdout.write(`${greeting(context)}\n`);
  else context.log.info({ url: config.baseUrl, host: config.HOST, port: config.PORT }, "listening");
}

function listen(server: Server, { PORT, HOST }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" ? new Error(`Port ${PORT} is taken. Set PORT to another one.`) : error);
    });
    server.listen(PORT, HOST, resolve);
  });
}

/** The first SIGTERM or SIGINT stops in order, a second one at once. */
function stopOnSignals(context: Context, server: Server, sockets: ReadonlySet<Socket>): void {
  let isStopping = false;
  const stop = async () => {
    if (isStopping) process.exit(1);
    isStopping = true;
    setTimeout(() => server.closeAllConnections(), DRAIN_MS);
    await acceptPending(server);
    const drained = drain(server, sockets);
    // Only now is each answer the last on its connection: clients whose connection ends connect anew, and the kernel
    // resets what it establishes between the last accept and the close.
    context.draining = true;
    context.log.info("stopping: no new connections, what is in flight may finish");
    await drained;
    await Promise.race([context.close(), delay(CLOSE_MS)]);
    process.exit(0);
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

/**
 * Accepts the connections that the kernel has established already, which a close would reset: libuv accepts one in each
 * turn of the event loop. Ends after a turn without one.
 */
async function acceptPending(server: Server): Promise<void> {
  let hasAccepted = true;
  server.on("connection", () => {
    hasAccepted = true;
  });
  await nextTurn(); // of the turn that brought the signal
  for (let turns = 0; hasAccepted && turns < MAX_BACKLOG; turns++) {
    hasAccepted = false;
    await nextTurn();
  }
}

/** Stops listening, then waits until every connection is done, or is cut off. */
async function drain(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  // Not the HTTP server's own close: it cuts idle connections at once, on which a request may be arriving.
  const closed = new Promise<void>((resolve) => SocketServer.prototype.close.call(server, () => resolve()));
  const linger = setTimeout(() => {
    const sweep = setInterval(() => {
      server.closeIdleConnections();
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy(); // kept in reserve, never used
    }, SWEEP_MS);
    void closed.then(() => clearInterval(sweep));
  }, LINGER_MS);
  await closed;
  clearTimeout(linger);
}

/** Nobody knows what state a promise that failed unseen has left behind. */
function dieOnUnhandled(log: Context["log"]): void {
  const die = (error: unknown) => {
    log.fatal({ err: error }, "unhandled error: stopping");
    log.flush();
    process.exit(1);
  };
  process.on("unhandledRejection", die);
  process.on("uncaughtException", die);
}

main().catch((error: unknown) => {
  const { message = error } = (error ?? {}) as { message?: unknown };
  process.stderr.write(`Homeport cannot start: ${message}\n`); // for whoever starts it, not for the log
  process.exit(1);
});
