import { AppError } from "../../errors";
import type { DocumentContent, DownloadContent } from "../../platform/response-content";
import type { Catalog } from "../catalog/catalog";
import type { Snapshot } from "../catalog/snapshot";
import { artifactContent } from "../download";
import { resolveClientId, type UpdateParams, type UpdateQuery } from "../http-schema";
import { normalizeArchitecture } from "../platforms";
import { appInstallerFeed } from "./app-installer";
import { appcastFeed } from "./appcast";
import { autoUpdaterFeed, squirrelMacStaticFeed } from "./auto-updater";
import { electronFeed } from "./electron-updater";
import { findLatestFile, LATEST } from "./latest-files";
import { squirrelReleases } from "./squirrel-releases";
import { type FoundFile, findStoredFile } from "./stored-files";
import { tauriDynamicFeed, tauriStaticFeed } from "./tauri";
import { installedVersionOf, type UpdateFeed, type UpdateRequest } from "./update-feed";
import { velopackReleases } from "./velopack-releases";
import { wingetFeed } from "./winget";

type Deps = UpdateRequest["deps"] & { catalog: Catalog } & Parameters<typeof artifactContent>[0];
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
  const target = { deps: { adoption, config }, snapshot, product, channel };
  const feed = findFeed(path, { ...target, ...client, clientId, current: installedVersion(query), query });
  if (feed) return feed;
  const arch = query.arch && normalizeArchitecture(query.arch);
  return artifactContent(deps, { snapshot, ...findFile(snapshot, { product, channel, file: path }, clientId, arch) });
}

/** The feed at a path below a channel; null for a file, and where nothing is. @throws AppError release_not_found */
export function findFeed(path: readonly string[], request: UpdateRequest): DocumentContent | null {
  const { query, current, snapshot } = request;
  const {
    file,
    arch = query.arch && normalizeArchitecture(query.arch),
    installed = current,
  } = parseBase(path, snapshot);
  const name = file.join("/");
  for (const { pattern, resolve } of UPDATE_FEEDS) {
    const match = pattern.exec(name);
    if (match) return resolve({ ...request, current: installed, query: { ...query, arch } }, match.groups ?? {});
  }
  return null;
}

/** The file at a path below a channel. @throws AppError release_not_found */
export function findFile(
  snapshot: Snapshot,
  { file: path, ...target }: UpdateParams,
  clientId?: string,
  architecture?: string,
): FoundFile {
  const { file, arch = architecture } = parseBase(path, snapshot);
  const [folder, name = ""] = file;
  if (folder === LATEST && file.length === 2) return findLatestFile(snapshot, target, name, clientId);
  return findStoredFile(snapshot, { ...target, file }, arch);
}

/**
 * Base URLs that name an architecture: `arm64` for what else takes `?arch=arm64`, and update-electron-app's for Squirrel.Windows,
 * `win32-x64/1.0.0`.
 */
function parseBase(path: readonly string[], { knownValues }: Snapshot) {
  const [target = "", version = "", ...file] = path;
  if (path.length === 2 && knownValues.architecture.has(target)) return { file: [version], arch: target };
  const [, arch] = /^win32-(.+)$/.exec(target) ?? [];
  return arch !== undefined && version !== "msix" && file.length === 1
    ? { file, arch: normalizeArchitecture(arch), installed: installedVersionOf(version).version }
    : { file: [...path] };
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
  squirrelMacStaticFeed,
  velopackReleases,
  tauriDynamicFeed,
  tauriStaticFeed,
  appcastFeed,
  appInstallerFeed,
  wingetFeed,
];
