import { compareBuild, type SemVer } from "semver";
import type { DocumentContent } from "../../platform/response-content";
import { releaseFields, tauri } from "../formats/tauri";
import { architecturesIn, normalizeArchitecture, Platform, parsePlatform } from "../platforms";
import { type Artifact, formatVersion, type Release } from "../schema";
import { parseBundleType, selectByBundleType } from "../selection/file-types";
import type { ArtifactSelector } from "../selection/select-release";
import { selectUpdate, type UpdaterRules } from "./select-update";
import { storedFileUrls } from "./stored-files";
import {
  installedVersionOf,
  missingRelease,
  noUpdate,
  type RenderedFeed,
  recordCheck,
  toDocument,
  type UpdateFeed,
  type UpdateRequest,
} from "./update-feed";

/** The bundle types of each platform, the default one first. */
const BUNDLE_TYPES = {
  windows: ["nsis", "msi"],
  macos: ["app"],
  linux: ["appimage", "deb", "rpm"],
} as const satisfies Record<Platform, readonly string[]>;

/** The files of a release that Tauri can install, by bundle type. */
function tauriFiles(release: Release): { bundleType: string; file: Artifact }[] {
  return BUNDLE_TYPES[release.platform].flatMap((bundleType) => {
    const file = selectByBundleType(tauri.selectArtifact, bundleType)(release);
    return file ? [{ bundleType, file }] : [];
  });
}

/** The file for an app without a bundle type: on Linux an AppImage, for which plugins before 2.10 are documented. */
const defaultTauriFile: ArtifactSelector = (release) => {
  const [first] = tauriFiles(release);
  return release.platform === "linux" && first?.bundleType !== "appimage" ? undefined : first?.file;
};

function tauriSelector(bundleType: string | undefined): ArtifactSelector {
  if (bundleType === undefined) return defaultTauriFile;
  const type = parseBundleType(bundleType);
  return selectByBundleType(type === "unknown" ? defaultTauriFile : tauri.selectArtifact, type);
}

/** Tauri's dynamic server (Tauri 2, "Updater", "Dynamic Update Server"): `{{target}}/{{arch}}/{{current_version}}`. */
export const tauriDynamicFeed: UpdateFeed = {
  pattern: /^(?<target>windows|darwin|linux)\/(?<arch>[^/]+)\/(?<version>[^/]+)$/,
  resolve: (request, { target = "", arch = "", version = "" }) => {
    const platform = parsePlatform(target);
    if (!platform) return null;
    const { version: current, numbers } = installedVersionOf(version);
    const selectArtifact = tauriSelector(request.query.bundleType);
    const rules = { selectArtifact, comparesSystemVersion: () => false };
    const selector = { platform, architecture: normalizeArchitecture(arch) };
    const { release, isUpdate, isClientSpecific } = selectUpdate({ ...request, current, numbers }, selector, rules);
    const file = release && selectArtifact(release);
    if (!file) throw missingRelease(tauri.requirements);
    recordCheck({ ...request, current }, selector, release);
    if (!isUpdate) return noUpdate(tauri.contentType);
    const url = storedFileUrls(request.deps.config.baseUrl)(release, file);
    const text = JSON.stringify({ ...releaseFields(release), url, signature: file.minisign });
    return toDocument({ text, contentType: tauri.contentType, isClientSpecific });
  },
};

/** The names that Tauri's plugin gives to systems. */
const SYSTEMS = { windows: "windows", macos: "darwin", linux: "linux" } as const satisfies Record<Platform, string>;
const RULES: UpdaterRules = {
  selectArtifact: (release) => tauriFiles(release)[0]?.file,
  comparesSystemVersion: () => false,
};

type Target = { name: string; release: Release };

/**
 * Tauri's static file (Tauri 2, "Static JSON File"): the newest version for all platforms, with the targets that have
 * it. It says nothing of rollouts, so that clients without an id wait for the end of one.
 */
export const tauriStaticFeed: UpdateFeed = { pattern: /^latest\.json$/, resolve };

function resolve(request: UpdateRequest): DocumentContent {
  const targets: Target[] = [];
  let isClientSpecific = false;
  for (const platform of Platform.options) {
    for (const [architecture, name] of architecturesIn("tauri")) {
      const selected = selectUpdate(request, { platform, architecture }, RULES);
      isClientSpecific ||= selected.isClientSpecific;
      if (selected.release) targets.push({ name: `${SYSTEMS[platform]}-${name}`, release: selected.release });
    }
  }
  const [newest] = targets.map(({ release }) => release).sort((a, b) => compareBuild(b.version, a.version));
  if (!newest) throw missingRelease(tauri.requirements);
  const listed = targets.filter(({ release }) => compareBuild(release.version, newest.version) === 0);
  const urlOf = storedFileUrls(request.deps.config.baseUrl);
  const platforms = Object.fromEntries(listed.flatMap((target) => platformEntries(target, urlOf)));
  const text = JSON.stringify({ ...releaseFields(newest), platforms });
  return toDocument({ text, contentType: tauri.contentType, isClientSpecific });
}

/**
 * What a static server can respond in place of the dynamic one: the files of every bundle type, since it does not read the
 * query. The plugin takes `platforms` from any endpoint, and compares versions (updater.rs, `RemoteRelease` and `check`): a
 * client that must not change its version is sent the one that it has.
 */
export function tauriTargetFile(
  request: UpdateRequest,
  { platform, arch, version }: { platform: Platform; arch: string; version: SemVer },
): RenderedFeed | null {
  const selector = { platform, architecture: normalizeArchitecture(arch) };
  const selected = selectUpdate({ ...request, current: version }, selector, RULES);
  const { release, shouldKeepInstalled, isClientSpecific } = selected;
  if (!release) return null;
  const urlOf = storedFileUrls(request.deps.config.baseUrl);
  const platforms = Object.fromEntries(platformEntries({ name: `${SYSTEMS[platform]}-${arch}`, release }, urlOf));
  const file = defaultTauriFile(release);
  const own = file && { url: urlOf(release, file), signature: file.minisign };
  const kept = shouldKeepInstalled && { version: formatVersion(version) };
  const text = JSON.stringify({ ...releaseFields(release), ...own, ...kept, platforms });
  return { text, contentType: tauri.contentType, isClientSpecific };
}

/** The paths below which the plugin adds its version, by platform. */
export const TAURI_TARGETS = Platform.options.flatMap((platform) =>
  [...architecturesIn("tauri").values()].map((arch) => ({ platform, arch, folder: `${SYSTEMS[platform]}/${arch}` })),
);

/** The plugin looks for `{os}-{arch}-{bundle type}` and then for `{os}-{arch}`; before 2.10 for the latter alone. */
function platformEntries({ name, release }: Target, urlOf: (release: Release, file: Artifact) => string) {
  const toEntry = (key: string, file: Artifact) => [key, { url: urlOf(release, file), signature: file.minisign }];
  const byDefault = defaultTauriFile(release);
  return [
    ...(byDefault ? [toEntry(name, byDefault)] : []),
    ...tauriFiles(release).map(({ bundleType, file }) => toEntry(`${name}-${bundleType}`, file)),
  ];
}
