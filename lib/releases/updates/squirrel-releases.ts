import type { SemVer } from "semver";
import type { DocumentContent } from "../../platform/response-content";
import { COMMON_BUILDS, normalizeArchitecture, RUNS_ON } from "../platforms";
import type { Artifact, Release } from "../schema";
import type { ReleaseSelector } from "../selection/parse-query";
import { candidateLists } from "../selection/select-release";
import { deltaChain, fullPackage, installedSquirrelVersion, squirrelPackageId, squirrelVersion } from "./nupkg";
import { type SelectedUpdate, selectUpdate, type UpdaterRules } from "./select-update";
import { recordCheck, toDocument, type UpdateFeed, type UpdateRequest } from "./update-feed";

const MAX_STAGED_RELEASES = 4;
const NO_HASH = "0".repeat(40);

const fullPackageOf = (release: Release) => fullPackage(release, squirrelPackageId);
const RULES: UpdaterRules = { selectArtifact: fullPackageOf, comparesSystemVersion: () => false };

/**
 * RELEASES of Squirrel.Windows: a line for each package with its SHA-1, name and size (ReleaseEntry.ParseReleaseEntry).
 * Without a client id, a release with a partial rollout has its percentage in a comment: the client applies it itself.
 */
export const squirrelReleases: UpdateFeed = {
  pattern: /^RELEASES$/,
  resolve: (sent) => {
    const { arch = "" } = sent.query; // the system's: amd64 or x86
    for (const architecture of RUNS_ON.windows[normalizeArchitecture(arch)] ?? COMMON_BUILDS.windows) {
      const selector = { platform: "windows", product: sent.product, channel: sent.channel, architecture } as const;
      const request = { ...sent, current: installedOf(sent, selector) };
      const selected = selectUpdate(request, selector, RULES);
      if (selected.release) recordCheck(request, selector, selected.release);
      const staged = stagedReleases(request, selector, selected);
      if (selected.release || staged.length > 0) return render(request, selector, selected, staged);
    }
    return null;
  },
};

function installedOf({ snapshot, current }: UpdateRequest, selector: ReleaseSelector): SemVer | undefined {
  const known = candidateLists(snapshot, selector).flatMap((list) => list.map(({ version }) => version));
  return current && installedSquirrelVersion(current, known);
}

/** The newer releases whose rollout the client applies itself, since it sends no id. */
function stagedReleases(
  { snapshot, clientId, current }: UpdateRequest,
  selector: ReleaseSelector,
  { release: offered, shouldKeepInstalled, system }: SelectedUpdate,
): Release[] {
  if (clientId !== undefined || shouldKeepInstalled) return [];
  const newer = candidateLists(snapshot, selector)
    .flat()
    .filter(({ version, requiresFrom }) => {
      const isAllowed = requiresFrom === null || (current !== undefined && current.compare(requiresFrom) >= 0);
      return isAllowed && (!offered || version.compare(offered.version) > 0);
    });
  const isStaged = (release: Release) => release.rollout >= 1 && release.rollout < 100;
  return newer
    .filter((release) => isStaged(release) && fullPackageOf(release) && system.supports(release))
    .slice(0, MAX_STAGED_RELEASES);
}

function render(
  request: UpdateRequest,
  selector: ReleaseSelector,
  { release, shouldKeepInstalled, isClientSpecific }: SelectedUpdate,
  staged: readonly Release[],
): DocumentContent {
  const lines: string[] = [];
  if (release && shouldKeepInstalled) lines.push(installedVersionLine(request, release));
  else if (release) lines.push(...linesOf(request, selector, release));
  for (const one of staged) lines.push(`${line(fullPackageOf(one))} # ${Math.floor(one.rollout)}%`);
  const text = `${lines.join("\n")}\n`;
  const isOwn = isClientSpecific || shouldKeepInstalled;
  return toDocument({ text, contentType: "text/plain; charset=utf-8", isClientSpecific: isOwn });
}

function linesOf(request: UpdateRequest, selector: ReleaseSelector, release: Release): string[] {
  const full = fullPackageOf(release);
  if (!full) return [];
  const deltas = deltaChain(request, selector, release, full, squirrelPackageId);
  return [...deltas.map(({ delta }) => line(delta)), line(full)];
}

/** Squirrel.Windows installs an older version if the file names one, so it is sent the version it has. */
function installedVersionLine({ current, query: { id = "" } }: UpdateRequest, release: Release): string {
  const own = fullPackageOf(release)?.fileName ?? "";
  const packageId = /^[\w.-]+$/.test(id) ? id : squirrelPackageId(own, release.version, "full");
  return `${NO_HASH} ${packageId}-${squirrelVersion(current ?? release.version)}-full.nupkg 1`;
}

function line(artifact: Artifact | undefined): string {
  return artifact ? `${artifact.sha1?.toUpperCase()} ${artifact.fileName} ${artifact.sizeBytes}` : "";
}
