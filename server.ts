import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { responders } from "./app/routes.generated";
import { createFirstOperatorLink } from "./lib/accounts/first-operator";
import { startBackground } from "./lib/background";
import { composeContext } from "./lib/compose";
import { type Context, setContext } from "./lib/context";
import { type Config, loadConfig } from "./lib/platform/config";
import { publishOperatorAccess } from "./lib/platform/files/operator-file";
import { createDrain, type Drain } from "./lib/platform/http/server/drain";
import { createHttpServer } from "./lib/platform/http/server/http-server";
import type { NextHandler } from "./lib/platform/http/server/next-page";
import { createRouteTable, listStaticFiles } from "./lib/platform/http/server/routes";
import { FIRST_OPERATOR, firstOperatorMessage, startupMessage, stopOnSignals } from "./lib/platform/startup";
import { logConsole } from "./lib/platform/telemetry/log";

/** How long requests may take to finish after a signal to stop. */
const DRAIN_MS = 25_000;
/** How long emails and the database may take to finish after that. */
const CLOSE_MS = 15_000;

const nothing = async () => {};

/** Opens everything, listens, and stops in order on a signal. */
async function main(): Promise<void> {
  const config = loadConfig();
  const context = await composeContext(config);
  setContext(context);
  exitOnUnhandled(context.log);
  logConsole(context.log);
  let loading: Promise<NextHandler> | undefined;
  const next = () => (loading ??= loadNext(config));
  const server = createHttpServer(createRouteTable(responders, listStaticFiles()), next);
  const drain = createDrain(server);
  // Before the service responds, unless the system chooses the port: a command that is run then finds it.
  let unpublish = config.PORT === 0 ? nothing : await publishAccess(context, config.PORT);
  await listen(server, config).catch(async (error: unknown) => {
    await unpublish();
    throw error;
  });
  if (config.PORT === 0) unpublish = await publishAccess(context, (server.address() as AddressInfo).port);
  stopOnSignals(() => stop(context, server, drain, () => unpublish()));
  startBackground(context);
  const { baseUrl: url, HOST: host, PORT: port } = config;
  if (!process.stdout.isTTY) context.log.info({ url, host, port, pid: process.pid }, "listening");
  else process.stdout.write(`${startupMessage(context)}\n`);
  await printFirstOperatorLink(context);
}

/** Lets commands work on the running service. On PostgreSQL they open the database themselves. */
async function publishAccess({ config, log, operatorKey }: Context, port: number): Promise<() => Promise<void>> {
  if (!operatorKey) return nothing;
  const { DATA_DIR, HOST: host } = config;
  return publishOperatorAccess(DATA_DIR, { host, port }, operatorKey.text).catch((error: unknown) => {
    log.error({ err: error }, "operator.json cannot be written: commands do not find the running service");
    return nothing;
  });
}

/**
 * Prints a link while there is no admin: as text where a person reads it, and in the log unless that is the terminal, where
 * each line is JSON.
 */
async function printFirstOperatorLink(context: Context): Promise<void> {
  try {
    const link = (await context.database.migrated()) ? await createFirstOperatorLink(context) : null;
    if (!link) return;
    if (!process.stdout.isTTY) context.log.warn({ url: link }, FIRST_OPERATOR);
    const terminal = [process.stdout, process.stderr].find(({ isTTY }) => isTTY);
    terminal?.write(`${firstOperatorMessage(link)}\n`);
  } catch (error) {
    context.log.warn({ err: error }, "could not check for an admin: no first-operator link was printed");
  }
}

/** Loads what renders the pages, when the first one is requested: it needs as long as everything else together. */
async function loadNext({ HOST, PORT }: Config): Promise<NextHandler> {
  // As in Next's standalone server: what the build resolved. Next would load a compiler to read next.config.ts.
  const { config } = JSON.parse(await readFile(".next/required-server-files.json", "utf8"));
  process.env.__NEXT_PRIVATE_STANDALONE_CONFIG = JSON.stringify(config);
  const { default: next } = await import("next");
  // Next ends every connection that offers h2c on the server it is given, so it gets an unused one.
  const app = next({ dev: false, hostname: HOST, port: PORT, httpServer: createServer() });
  await app.prepare();
  return app.getRequestHandler();
}

function listen(server: Server, { PORT, HOST }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" ? new Error(`Port ${PORT} is in use. Set PORT to another one.`) : error);
    });
    server.listen(PORT, HOST, resolve);
  });
}

/** Lets load balancers find out, finishes requests in progress, then everything else. */
async function stop(context: Context, server: Server, drain: Drain, unpublish: () => Promise<void>): Promise<void> {
  const { SHUTDOWN_DELAY_SECONDS: delaySeconds } = context.config;
  if (delaySeconds > 0) {
    context.isDraining = true;
    context.log.info({ delaySeconds }, "stopping: probes fail, connections are still accepted");
    await delay(delaySeconds * 1000);
  }
  setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  const drained = drain(() => {
    // From here on each response closes its connection. Earlier, its client would connect again to a listener that is
    // about to close.
    context.isDraining = true;
    context.log.info("stopping: no new connections, requests in progress may finish");
  });
  await Promise.all([drained, unpublish()]);
  await Promise.race([context.close(), delay(CLOSE_MS)]);
}

/** An unhandled error leaves the process in an unknown state: it ends. */
function exitOnUnhandled(log: Context["log"]): void {
  const exit = (error: unknown) => {
    log.fatal({ err: error }, "unhandled error: stopping");
    log.flush();
    process.exit(1);
  };
  process.on("unhandledRejection", exit);
  process.on("uncaughtException", exit);
}

main().catch((error: unknown) => {
  const { message = error } = (error ?? {}) as { message?: unknown };
  process.stderr.write(`Homeport cannot start: ${message}\n`); // plain text, for the terminal
  process.exit(1);
});
