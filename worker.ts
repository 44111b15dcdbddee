import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { composeWorker } from "./lib/compose";
import { loadConfig } from "./lib/platform/config";
import { stopOnSignals } from "./lib/platform/startup";

/** How long notifications being sent and the database may take to finish after a signal to stop. */
const CLOSE_MS = 15_000;

/** Sends notifications until a signal to stop: for web instances with PUSH_WORKER=off. */
async function main(): Promise<void> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  const { log, close } = await composeWorker(loadConfig());
  stopOnSignals(async () => {
    log.info("stopping: notifications being sent may finish, the others are released");
    await Promise.race([close(), delay(CLOSE_MS)]);
  });
  log.info("the push worker is ready");
}

main().catch((error: unknown) => {
  const { message = error } = (error ?? {}) as { message?: unknown };
  console.error(`The push worker cannot start: ${message}`);
  process.exit(1);
});
