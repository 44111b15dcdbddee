import { compareBuild, type SemVer } from "semver";
import type { Snapshot } from "../catalog/snapshot";
import type { Release } from "../schema";
import type { ReleaseSelector } from "../selection/release-selector";
import { type ArtifactSelector, findVersion, selectRelease } from "../selection/select-release";
import { evaluateUpdate, supportPolicyOf } from "../selection/support-policy";
import { type SystemFilter, systemFilter } from "../selection/system-filter";
import type { UpdateRequest } from "./update-feed";

/** Which releases an updater can install. */
export type UpdaterRules = {
  selectArtifact: ArtifactSelector;
  /** Whether the updater itself rejects a release that needs a newer system. */
  comparesSystemVersion: (release: Release) => boolean;
};

export type SelectedUpdate = {
  release: Release | undefined;
  /**
   * The installed version is newer, or the release is a sample and the installed version is not: the client must not get
   * it.
   */
  isHeld: boolean;
  isClientSpecific: boolean;
  system: SystemFilter;
};

/** Selects the release that a client gets for one platform and architecture, as `/api/version` does. */
export function selectUpdate(
  { snapshot, product, channel, clientId, current, query: { systemVersion } }: UpdateRequest,
  target: Pick<ReleaseSelector, "platform" | "architecture"> & { channel?: string },
  { selectArtifact, comparesSystemVersion }: UpdaterRules,
): SelectedUpdate {
  const selector = { product, channel, ...target };
  const system = systemFilter(snapshot, selector, { systemVersion, current, comparesSystemVersion });
  const { release, isClientSpecific } = selectRelease(snapshot, selector, selectArtifact, {
    clientId,
    current,
    system,
  });
  const isHeld = current !== undefined && release !== undefined && isKept(snapshot, selector, release, current);
  return { release, isHeld, isClientSpecific, system };
}

function isKept(snapshot: Snapshot, selector: ReleaseSelector, release: Release, current: SemVer): boolean {
  if (release.sample && !findVersion(snapshot, selector, current)) return true;
  const { updateAvailable } = evaluateUpdate(release, current, supportPolicyOf(snapshot, selector, release));
  return !updateAvailable && compareBuild(release.version, current) < 0;
}
