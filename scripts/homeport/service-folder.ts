import { existsSync, readFileSync } from "node:fs";
import { secretOf } from "../../lib/platform/config/secrets";
import type { HttpClient } from "./transport/http-client";
import { runningOrInProcessService } from "./transport/running-service";

/** The version of this command line, which is the service's in whose folder it runs. */
export function commandVersion(): string {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  return version;
}

/** For the help: what commands do without HOMEPORT_URL. */
export const WITHOUT_URL =
  "Otherwise they operate the service in this folder (.env, DATA_DIR or DATABASE_URL), whether it is running or not.";

/** Sets the variables of the service's `.env`. */
export function loadSettings(): void {
  if (existsSync(".env")) process.loadEnvFile(".env");
}

/**
 * The service of this folder: the one that runs on the embedded database in DATA_DIR; else, and on PostgreSQL, in this process.
 * What needs the database or the routes is loaded only if they are used.
 */
export function openServiceHere(): { client: HttpClient; close: () => Promise<void> } {
  const isOnServer = secretOf(process.env, "DATABASE_URL") !== undefined;
  const dataDir = isOnServer ? null : process.env.DATA_DIR?.trim() || "./data";
  let close = async () => {};
  const openInProcess = async (): Promise<HttpClient> => {
    const { openInProcessService } = await import("./transport/in-process-service");
    const local = await openInProcessService();
    close = local.close;
    return local;
  };
  const client = runningOrInProcessService(dataDir, openInProcess);
  return { client, close: () => close() };
}
