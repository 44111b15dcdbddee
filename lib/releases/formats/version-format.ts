import type { SemVer } from "semver";
import type { Platform } from "../platforms";
import { completeFiles } from "../release-files";
import type { Artifact, Release } from "../schema";
import type { ArtifactSelector } from "../selection/select-release";
import type { SupportPolicy } from "../selection/support-policy";

export type FormatInput = {
  release: Release;
  artifact: Artifact;
  baseUrl: string;
  /** null if the installed version is unknown. */
  updateAvailable: boolean | null;
  mandatory: boolean | null;
  /** For updaters that downgrade: the installed version to report, so that the client stays on it. */
  installedVersionToReport: SemVer | null;
  /** The release is a sample and the installed version is not: the response must not name the release. */
  isHiddenSample: boolean;
  requestedArchitecture: string;
  supportPolicyOf: (release: Release) => SupportPolicy;
  findReleasesForOlderSystems: () => Release[];
  /** CFBundleVersion of another version of the release's app; undefined if it is unknown. */
  buildVersionOf: (release: Release, version: SemVer) => string | undefined;
};

/** A format of /api/version: what one updater reads. */
export type VersionFormat = {
  name: string;
  selectArtifact: ArtifactSelector;
  /** What this updater requires, for the detail of release_not_found. */
  requirements?: string;
  /** Whether the updater itself rejects a release that needs a newer system. Default: it does. */
  comparesSystemVersion?: (release: Release) => boolean;
  /** The platforms on which the updater exists. Default: all. */
  platforms?: readonly Platform[];
  /** The updater installs whatever the response names, so the query must have `current`. */
  requiresCurrentVersion?: true;
  /** The updater knows build versions (CFBundleVersion), and compares versions itself. */
  comparesBuildVersions?: true;
  /** On Linux, the updater installs the one type of file that it was installed from. */
  requiresBundleType?: true;
  /** The updater installs an older version if the response names one. */
  canDowngrade?: true;
  contentType: string;
  /** Renders the body; null responds 204 No Content: no update. */
  render: (input: FormatInput) => string | null;
};

/** Selects the first file whose name the updater accepts: the update, else the installer, else another one. */
export function selectByFileName(
  accepted: Partial<Record<Platform, RegExp>>,
  isSigned: (artifact: Artifact) => boolean = () => true,
): ArtifactSelector {
  return (release) =>
    completeFiles(release).find(
      (artifact) => accepted[release.platform]?.test(artifact.fileName) && isSigned(artifact),
    );
}
