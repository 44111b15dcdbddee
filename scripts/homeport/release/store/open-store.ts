import { homedir } from "node:os";
import path from "node:path";
import { UsageError } from "../../../command-line";
import type { AdminApi } from "../../transport/admin-api";
import { resolveFromCaller } from "../options";
import type { ReleaseStore } from "./release-store";

/**
 * The releases of the service, over its API; with `--catalog` those of a file, which belongs to no service of this machine.
 * @throws UsageError
 */
export async function openStore(api: AdminApi, catalog: string | undefined): Promise<ReleaseStore> {
  if (catalog === undefined) return openApiStore(api);
  if (process.env.HOMEPORT_URL) throw new UsageError("--catalog and HOMEPORT_URL are mutually exclusive.");
  const [{ createObjectStorage }, { loadConfig }, { catalogFileStore }] = await Promise.all([
    import("../../../../lib/platform/adapters/s3"),
    import("../../../../lib/platform/config"),
    import("./catalog-file-store"),
  ]);
  const storage = createObjectStorage(loadConfig(), () => new Date());
  return catalogFileStore(resolveFromCaller(catalog), storage);
}

async function openApiStore(api: AdminApi): Promise<ReleaseStore> {
  const [{ apiStore }, { createUploadIdStore }] = await Promise.all([
    import("./api/api-store"),
    import("./api/upload-id-store"),
  ]);
  const cache = process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache");
  const isElsewhere = Boolean(process.env.HOMEPORT_URL);
  return apiStore(api, createUploadIdStore(path.join(cache, "homeport-release")), isElsewhere);
}
