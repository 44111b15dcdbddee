import { compareBuild } from "semver";
import { groupBy } from "../catalog/snapshot";
import { formatVersion, type Release } from "../schema";
import type { CatalogPrune } from "./schema";

/** Which releases may go: older than the newest `keep` versions of their channel, and published before a time. */
export type PruneLimits = Pick<CatalogPrune, "keep" | "publishedBefore">;

/**
 * The releases that can be removed without a change for any client: those beyond the limits, except
 * - the newest release that all clients receive, for each minimum system and required version, and all newer ones,
 * - all that are newer than a rollback, whose clients it is offered to,
 * - critical releases and the highest minimum supported version, which make updates mandatory.
 *
 * Sample releases can be removed as soon as there is another one. Without limits, only those. Pure.
 */
export function planPrune(releases: readonly Release[], limits: PruneLimits): Release[] {
  const real = releases.filter(({ sample }) => !sample);
  const samples = real.length > 0 ? releases.filter(({ sample }) => sample) : [];
  if (limits.keep === undefined && limits.publishedBefore === undefined) return samples;
  const streams = groupBy(real, ({ product, platform, architecture, channel }) =>
    [product, platform, architecture, channel].join("/"),
  );
  return [...samples, ...[...streams.values()].flatMap((stream) => planStream(stream, limits))];
}

function planStream(stream: readonly Release[], { keep = 0, publishedBefore }: PruneLimits): Release[] {
  const ordered = stream.toSorted((a, b) => compareBuild(b.version, a.version));
  const versions = [...new Set(ordered.map(({ version }) => formatVersion(version)))].slice(0, keep);
  const needed = neededReleases(ordered);
  return ordered.filter((release) => {
    const isOld = publishedBefore === undefined || release.releasedAt < publishedBefore;
    return isOld && !versions.includes(formatVersion(release.version)) && !needed.has(release);
  });
}

/** `ordered`: the newest first. */
function neededReleases(ordered: readonly Release[]): Set<Release> {
  const isForEveryone = ({ yanked, rollout }: Release) => !yanked && rollout === 100;
  const requirementsOf = ({ minimumSystemVersion, requiresFrom }: Release) =>
    `${minimumSystemVersion} ${requiresFrom && formatVersion(requiresFrom)}`;
  const offered = groupBy(ordered.filter(isForEveryone), requirementsOf);
  const lastNeeded = Math.max(
    ordered.findIndex(isForEveryone),
    ordered.findLastIndex(({ rollback, yanked }) => rollback && !yanked),
  );
  const newer = lastNeeded === -1 ? ordered : ordered.slice(0, lastNeeded + 1);
  const [highestMinimum] = ordered
    .filter((release) => release.minimumSupportedVersion)
    .toSorted((a, b) => compareMinimum(b, a));
  return new Set([
    ...newer,
    ...[...offered.values()].flatMap((group) => group.slice(0, 1)),
    ...ordered.filter(({ critical, yanked }) => critical && !yanked),
    ...(highestMinimum ? [highestMinimum] : []),
  ]);
}

function compareMinimum(a: Release, b: Release): number {
  if (!a.minimumSupportedVersion || !b.minimumSupportedVersion) return 0;
  return compareBuild(a.minimumSupportedVersion, b.minimumSupportedVersion);
}
