import { type AdminApi, createAdminApi } from "./admin-api";
import { createHttpClient, type HttpClient } from "./http-client";
import { ownService } from "./own-service";

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
  const openLocal = async (): Promise<HttpClient> => {
    const { openLocalService } = await import("./local-service");
    const local = await openLocalService();
    close = local.close;
    return local;
  };
  const client = ownService(DATABASE_URL?.trim() ? null : DATA_DIR?.trim() || "./data", openLocal);
  return { api: createAdminApi(client), close: () => close() };
}
