import { compareBuild } from "semver";
import type { Release } from "../schema";
import type { ReleaseSelector } from "../selection/parse-query";
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
  /** The client must not get it: its version is newer, or the release is a sample and its version is not. */
  shouldKeepInstalled: boolean;
  /** As `updateAvailable` of `/api/version`. True if the installed version is unknown. */
  isUpdate: boolean;
  isClientSpecific: boolean;
  system: SystemFilter;
};

/** Selects the release that a client gets for one platform and architecture, as `/api/version` does. */
export function selectUpdate(
  {
    snapshot,
    product,
    channel,
    clientId,
    current,
    numbers = null,
    query: { systemVersion },
  }: Omit<UpdateRequest, "deps" | "userAgent" | "network">,
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
  const selected = { release, isClientSpecific, system };
  if (current === undefined || release === undefined)
    return { ...selected, shouldKeepInstalled: false, isUpdate: true };
  const policy = supportPolicyOf(snapshot, selector, release);
  const { updateAvailable } = evaluateUpdate(release, current, policy, numbers);
  const isHiddenSample = release.sample && !findVersion(snapshot, selector, current);
  const shouldKeepInstalled = isHiddenSample || (!updateAvailable && compareBuild(release.version, current) < 0);
  return { ...selected, shouldKeepInstalled, isUpdate: updateAvailable && !shouldKeepInstalled };
}
