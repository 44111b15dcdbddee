import { AppError } from "../../errors";
import type { DocumentContent, DownloadContent } from "../../platform/response-content";
import { artifactContent } from "../download";
import { resolveClientId, type UpdateParams, type UpdateQuery } from "../http-schema";
import { normalizeArchitecture } from "../platforms";
import { appInstallerFeed } from "./app-installer";
import { appcastFeed } from "./appcast";
import { autoUpdaterFeed } from "./auto-updater";
import { electronFeed } from "./electron-updater";
import { squirrelReleases } from "./squirrel-releases";
import { findStoredFile } from "./stored-files";
import { tauriDynamicFeed, tauriStaticFeed } from "./tauri";
import { installedVersionOf, type UpdateFeed, type UpdateRequest } from "./update-feed";
import { velopackReleases } from "./velopack-releases";
import { wingetFeed } from "./winget";

type Deps = UpdateRequest["deps"] & Parameters<typeof artifactContent>[0];
/** The headers X-User-Staging-Id and User-Agent, and the network. */
type Client = Pick<UpdateRequest, "userAgent" | "network"> & { stagingId: string | null };

/**
 * Finds what is at a path below `/api/updates/{product}/{channel}/`: an updater's feed, or a file.
 * @throws AppError invalid_query, release_not_found, catalog_unavailable, artifact_unavailable
 */
export async function resolveUpdate(
  { adoption, catalog, config, ...deps }: Deps,
  { product, channel, file: path }: UpdateParams,
  query: UpdateQuery,
  { stagingId, ...client }: Client,
): Promise<DocumentContent | DownloadContent> {
  const clientId = resolveClientId(query.clientId ?? query.stagingId, stagingId);
  const snapshot = catalog.current();
  if (!snapshot) throw new AppError("catalog_unavailable");
  const { knownValues } = snapshot;
  if (!knownValues.product.has(product) || !knownValues.channel.has(channel)) throw new AppError("release_not_found");
  const {
    file,
    arch = query.arch && normalizeArchitecture(query.arch),
    installed = installedVersion(query),
  } = parseSquirrelBase(path);
  const target = { deps: { adoption, catalog, config }, snapshot, product, channel };
  const document = findFeed(file, { ...target, ...client, clientId, current: installed, query: { ...query, arch } });
  if (document) return document;
  return artifactContent(deps, { snapshot, ...findStoredFile(snapshot, { product, channel, file }, arch) });
}

function findFeed(file: readonly string[], request: UpdateRequest): DocumentContent | null {
  const path = file.join("/");
  for (const { pattern, resolve } of UPDATE_FEEDS) {
    const match = pattern.exec(path);
    if (match) return resolve(request, match.groups ?? {});
  }
  return null;
}

/** update-electron-app's base URL for Squirrel.Windows: `win32-x64/1.0.0`, below which are RELEASES and its packages. */
function parseSquirrelBase(path: string[]) {
  const [target = "", version = "", ...file] = path;
  const [, arch] = /^win32-(.+)$/.exec(target) ?? [];
  return arch !== undefined && version !== "msix" && file.length === 1
    ? { file, arch: normalizeArchitecture(arch), installed: installedVersionOf(version).version }
    : { file: path };
}

function installedVersion({ current, localVersion }: UpdateQuery) {
  if (current && localVersion) {
    const detail = "Is an alias of current: send only one of them";
    throw new AppError("invalid_query", { errors: [{ pointer: "?localVersion", code: "repeated", detail }] });
  }
  return current ?? localVersion;
}

/** The documents below `/api/updates/{product}/{channel}/`. The first whose pattern matches responds. */
const UPDATE_FEEDS: readonly UpdateFeed[] = [
  electronFeed,
  squirrelReleases,
  autoUpdaterFeed,
  velopackReleases,
  tauriDynamicFeed,
  tauriStaticFeed,
  appcastFeed,
  appInstallerFeed,
  wingetFeed,
];
