import { versionReleases } from "../../catalog/snapshot";
import type { Release } from "../../schema";
import { isInRollout } from "../../selection/rollout-bucket";
import type { SystemFilter } from "../../selection/system-filter";
import type { UpdateRequest } from "../update-feed";

/**
 * The releases of the same version for other architectures, in their order. A sibling with a lower rollout than
 * `release` is left out for clients that only the latter includes.
 */
export function siblingReleases(
  { snapshot, product, clientId }: UpdateRequest,
  release: Release,
  target: { architectures: readonly string[]; channel: string; system: SystemFilter },
): { siblings: Release[]; isClientSpecific: boolean } {
  const siblings: Release[] = [];
  let isClientSpecific = false;
  for (const architecture of target.architectures) {
    if (architecture === release.architecture) continue;
    const builds = versionReleases(snapshot, { platform: release.platform, product, architecture }, release.version);
    const sibling =
      builds.find(({ channel }) => channel === target.channel) ?? builds.find(({ channel }) => channel === "stable");
    if (!sibling || sibling.rollout === 0 || !target.system.supports(sibling)) continue;
    const isLower = sibling.rollout < release.rollout;
    isClientSpecific ||= isLower;
    // The rollout bucket is that of `release`, so that it is the same for all architectures.
    const isIncluded = clientId !== undefined && isInRollout({ ...release, rollout: sibling.rollout }, clientId);
    if (!isLower || isIncluded) siblings.push(sibling);
  }
  return { siblings, isClientSpecific };
}
