import type { SemVer } from "semver";
import { formatVersion, type Release } from "../schema";
import { type Snapshot, versionReleases } from "./snapshot";

/**
 * CFBundleVersion of another version of a release's app. Releases without a build version have their version as such;
 * for others it is undefined if the catalog does not have that version.
 */
export function findBuildVersion(snapshot: Snapshot, release: Release, version: SemVer): string | undefined {
  if (release.buildVersion === null) return formatVersion(version);
  const builds = versionReleases(snapshot, release, version);
  return builds.find(({ buildVersion }) => buildVersion !== null)?.buildVersion ?? undefined;
}
