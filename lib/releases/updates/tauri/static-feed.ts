import { compareBuild } from "semver";
import type { DocumentContent } from "../../../platform/response-content";
import { releaseFields, tauri } from "../../formats/tauri";
import { architecturesIn, type Platform } from "../../platforms";
import type { Artifact, Release } from "../../schema";
import { selectUpdate, type UpdaterRules } from "../select-update";
import { storedFileUrls } from "../stored-files";
import { missingRelease, toDocument, type UpdateFeed, type UpdateRequest } from "../update-feed";
import { defaultTauriFile, tauriFiles } from "./bundle-type";

/** The names that Tauri's plugin gives to systems. */
const SYSTEMS: readonly (readonly [Platform, string])[] = [
  ["windows", "windows"],
  ["macos", "darwin"],
  ["linux", "linux"],
];
const RULES: UpdaterRules = {
  selectArtifact: (release) => tauriFiles(release)[0]?.file,
  comparesSystemVersion: () => false,
};

type Target = { name: string; release: Release };

/**
 * Tauri's static file (Tauri 2, "Updater", "Static JSON File"). It has one version for all platforms: the newest one, with
 * the targets that have it. It says nothing of rollouts, so that clients without an id wait for the end of one.
 */
export const tauriStaticFeed: UpdateFeed = { pattern: /^latest\.json$/, resolve };

function resolve(request: UpdateRequest): DocumentContent {
  const targets: Target[] = [];
  let isClientSpecific = false;
  for (const [platform, system] of SYSTEMS) {
    for (const [architecture, name] of architecturesIn("tauri")) {
      const selected = selectUpdate(request, { platform, architecture }, RULES);
      isClientSpecific ||= selected.isClientSpecific;
      if (selected.release) targets.push({ name: `${system}-${name}`, release: selected.release });
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

/** The plugin looks for `{os}-{arch}-{bundle type}` and then for `{os}-{arch}`; before 2.10 for the latter alone. */
function platformEntries({ name, release }: Target, urlOf: (release: Release, file: Artifact) => string) {
  const toEntry = (key: string, file: Artifact) => [key, { url: urlOf(release, file), signature: file.minisign }];
  const byDefault = defaultTauriFile(release);
  return [
    ...(byDefault ? [toEntry(name, byDefault)] : []),
    ...tauriFiles(release).map(({ bundleType, file }) => toEntry(`${name}-${bundleType}`, file)),
  ];
}
