import { homedir } from "node:os";
import path from "node:path";
import { UsageError } from "../../../command-line";
import type { AdminApi } from "../../transport/admin-api";
import { resolveFromCaller } from "../options";
import type { ReleaseStore } from "./release-store";

/**
 * The releases of the service at HOMEPORT_URL, over its API; without it the catalog's files, which the service watches.
 * @throws UsageError
 */
export async function openStore(api: AdminApi, catalog: string | undefined): Promise<ReleaseStore> {
  if (process.env.HOMEPORT_URL) {
    if (catalog !== undefined) throw new UsageError("--catalog and HOMEPORT_URL are mutually exclusive.");
    return openRemoteStore(api);
  }
  const [{ createObjectStorage }, { manifestFileOf }, { loadConfig }, { isCatalogUrl }, { localStore }] =
    await Promise.all([
      import("../../../../lib/adapters/s3"),
      import("../../../../lib/admin/releases/manifest/manifest-file"),
      import("../../../../lib/config"),
      import("../../../../lib/releases/catalog/catalog"),
      import("./local-store"),
    ]);
  const config = loadConfig();
  if (catalog === undefined && isCatalogUrl(config.RELEASE_CATALOG)) {
    throw new UsageError("RELEASE_CATALOG is a URL: use --catalog to select the file that is published there.");
  }
  const manifestFile = catalog === undefined ? manifestFileOf(config) : resolveFromCaller(catalog);
  return localStore(
    manifestFile,
    createObjectStorage(config, () => new Date()),
  );
}

/** The releases behind the API, wherever it is. */
export async function openRemoteStore({ client }: AdminApi): Promise<ReleaseStore> {
  const [{ remoteStore }, { createUploadIdStore }] = await Promise.all([
    import("./remote/remote-store"),
    import("./remote/upload-id-store"),
  ]);
  const cache = process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache");
  return remoteStore(client, createUploadIdStore(path.join(cache, "homeport-release")));
}
