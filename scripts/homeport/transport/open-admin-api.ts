import { type AdminApi, createAdminApi } from "./admin-api";
import { createHttpClient, type HttpClient } from "./http-client";
import { runningOrInProcessService } from "./running-service";

/**
 * Opens the admin API: of the service at HOMEPORT_URL; of the one that runs on the embedded database in DATA_DIR; else, and
 * on PostgreSQL, in this process. What needs the database or the routes is loaded only if they are used.
 * @throws UsageError for a HOMEPORT_URL that cannot be used
 */
export function openAdminApi(): { api: AdminApi; close: () => Promise<void> } {
  const { HOMEPORT_URL, HOMEPORT_API_KEY, DATABASE_URL, DATA_DIR } = process.env;
  if (HOMEPORT_URL)
    return { api: createAdminApi(createHttpClient(HOMEPORT_URL, HOMEPORT_API_KEY)), close: async () => {} };
  let close = async () => {};
  const openInProcess = async (): Promise<HttpClient> => {
    const { openInProcessService } = await import("./in-process-service");
    const local = await openInProcessService();
    close = local.close;
    return local;
  };
  const client = runningOrInProcessService(DATABASE_URL?.trim() ? null : DATA_DIR?.trim() || "./data", openInProcess);
  return { api: createAdminApi(client), close: () => close() };
}
