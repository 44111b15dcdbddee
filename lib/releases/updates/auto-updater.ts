import { releaseFields, squirrel } from "../formats/squirrel-mac";
import { DEFAULT_ARCHITECTURES, normalizeArchitecture, type Platform } from "../platforms";
import { formatVersion } from "../schema";
import { PACKAGE_REQUIREMENTS, packageOf } from "./app-installer";
import { selectUpdate, type UpdaterRules } from "./select-update";
import { storedFileUrls } from "./stored-files";
import { installedVersionOf, missingRelease, noUpdate, recordCheck, toDocument, type UpdateFeed } from "./update-feed";

type Updater = UpdaterRules & { platform: Platform; requirements: string | undefined };

const { contentType } = squirrel;
const SQUIRREL_MAC: Updater = {
  platform: "macos",
  selectArtifact: squirrel.selectArtifact,
  comparesSystemVersion: () => false,
  requirements: squirrel.requirements,
};
const MSIX: Updater = {
  platform: "windows",
  selectArtifact: packageOf,
  comparesSystemVersion: () => true, // Windows compares the package's minimum
  requirements: PACKAGE_REQUIREMENTS,
};

/** What update-electron-app requests for Squirrel.Mac (README, "Server Support"), and for an app installed as MSIX. */
export const autoUpdaterFeed: UpdateFeed = {
  pattern: /^(?:darwin-(?<mac>[^/]+)|win32-(?<windows>[^/]+)\/msix)\/(?<version>[^/]+)$/,
  resolve: (request, { mac, windows = "", version = "" }) => {
    const { platform, requirements, ...rules } = mac === undefined ? MSIX : SQUIRREL_MAC;
    const { version: current, numbers } = installedVersionOf(version);
    const target = { platform, architecture: normalizeArchitecture(mac ?? windows) };
    const { release, isUpdate, isClientSpecific } = selectUpdate({ ...request, current, numbers }, target, rules);
    const file = release && rules.selectArtifact(release);
    if (!file) throw missingRelease(requirements);
    recordCheck({ ...request, current }, target, release);
    if (!isUpdate) return noUpdate(contentType);
    const url = storedFileUrls(request.deps.config.baseUrl)(release, file);
    const text = JSON.stringify({ url, ...releaseFields(release) });
    return toDocument({ text, contentType, isClientSpecific });
  },
};

/**
 * What Squirrel.Mac reads from a static server (Electron, "Updating Applications", "Manual publishing"), and update-electron-app
 * requests as `RELEASES.json` of a StaticStorage. It installs `currentRelease` if that differs from its own version, so a client with
 * a newer one is sent the version it has.
 */
export const squirrelMacStaticFeed: UpdateFeed = {
  pattern: /^RELEASES\.json$/,
  resolve: (request) => {
    const architecture = request.query.arch ?? DEFAULT_ARCHITECTURES.macos;
    const target = { platform: "macos", architecture } as const;
    const { release, shouldKeepInstalled, isClientSpecific } = selectUpdate(request, target, SQUIRREL_MAC);
    const file = release && SQUIRREL_MAC.selectArtifact(release);
    if (!file) throw missingRelease(SQUIRREL_MAC.requirements);
    recordCheck(request, { ...target, architecture: request.query.arch ?? null }, release);
    if (shouldKeepInstalled && request.current) {
      const text = JSON.stringify({ currentRelease: formatVersion(request.current), releases: [] });
      return toDocument({ text, contentType, isClientSpecific });
    }
    const version = formatVersion(release.version);
    const url = storedFileUrls(request.deps.config.baseUrl)(release, file);
    const updateTo = { ...releaseFields(release), version, url };
    const text = JSON.stringify({ currentRelease: version, releases: [{ version, updateTo }] });
    return toDocument({ text, contentType, isClientSpecific });
  },
};
