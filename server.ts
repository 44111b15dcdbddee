import { existsSync } from "node:fs";
import { createServer } from "node:http";
import next from "next";
import { composeContext } from "./lib/compose";
import { ConfigError, loadConfig } from "./lib/config";
import { type Context, setContext } from "./lib/context";
import { DataDirInUseError } from "./lib/db/embedded";
import { directListener, loadDirectRoutes } from "./lib/http/front-door";

/** The front door: one HTTP server that answers /api itself and leaves pages to Next. */
async function main(): Promise<void> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  const config = loadConfig();
  const context = await composeContext(config);
  setContext(context);
  const app = next({ dev: false, hostname: config.HOST, port: config.PORT });
  await app.prepare();
  const answerDirectly = directListener(await loadDirectRoutes(".next/server"));
  const nextHandler = app.getRequestHandler();
  const server = createServer((request, response) => {
    if (!answerDirectly(request, response)) void nextHandler(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(config.PORT, config.HOST, resolve);
  });
  stopOnSignals(context, server);
  greet(context);
}

/** SIGTERM or SIGINT: stop accepting, finish what is in flight, close the database; a second one ends at once. */
function stopOnSignals(context: Context, server: ReturnType<typeof createServer>): void {
  const stop = () => {
    if (context.draining) process.exit(1);
    context.draining = true;
    server.close(async () => {
      await context.close();
      process.exit(0);
    });
    server.closeIdleConnections();
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

function greet({ config, mailer, push }: Context): void {
  const { baseUrl, mode, DATA_DIR } = config;
  const where = mode === "embedded" ? `embedded, in ${DATA_DIR}` : "PostgreSQL";
  const parts = [
    `Homeport ${config.build.version} listens on ${baseUrl} (${config.HOST}:${config.PORT})`,
    `  database  ${where}`,
    `  mail      ${{ smtp: "SMTP", files: `development: .eml files in ${DATA_DIR}/outbox`, off: "off: SMTP_URL is not set" }[mailer.mode]}`,
    `  push      ${push ? `development: files in ${DATA_DIR}/outbox` : "off: not configured"}`,
    "Try:",
    `  curl ${baseUrl}/api/health`,
    `  curl '${baseUrl}/api/version?platform=macos&product=core&architecture=universal'`,
    "  npm run tour",
  ];
  console.log(parts.join("\n"));
}

main().catch((error: NodeJS.ErrnoException) => {
  const readable = error instanceof ConfigError || error instanceof DataDirInUseError;
  const taken = error.code === "EADDRINUSE" && `Port ${loadConfig().PORT} is taken. Set PORT to another one.`;
  console.error(taken || (readable ? error.message : error));
  process.exit(1);
});
