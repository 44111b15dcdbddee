import type { SemVer } from "semver";
import type { Snapshot } from "../catalog/snapshot";
import { minimumSystemVersionOf } from "../catalog/snapshot";
import type { Release } from "../schema";
import { compareSystemVersions } from "../system-version";
import type { ReleaseSelector } from "./release-selector";

/** Which releases run on the client's system. Filters with the same `key` accept the same releases of a catalog. */
export type SystemFilter = { key: string; supports: (release: Release) => boolean };

type SystemInput = {
  /** As the client sent it. */
  systemVersion?: string | undefined;
  /** The installed version. */
  current?: SemVer | undefined;
  /** Whether the updater itself compares a release's `minimumSystemVersion`. */
  comparesSystemVersion: (release: Release) => boolean;
};

/** Accepts every release, for requests that do not depend on the client's system. */
export const ANY_SYSTEM: SystemFilter = { key: "any", supports: () => true };

/**
 * Filters releases by `minimumSystemVersion`. With a `systemVersion`, accepts what runs on it. Without one, accepts
 * what the updater compares itself, and what needs no newer system than the installed release.
 */
export function systemFilter(snapshot: Snapshot, selector: ReleaseSelector, input: SystemInput): SystemFilter {
  const { systemVersion, current, comparesSystemVersion } = input;
  if (systemVersion !== undefined) {
    const highest = highestMinimum(snapshot, selector, systemVersion);
    return { key: `on ${highest}`, supports: (release) => runsOn(release, highest) };
  }
  const known = current ? minimumSystemVersionOf(snapshot, selector, current) : null;
  return {
    key: `known ${known}`,
    supports: (release) => comparesSystemVersion(release) || runsOn(release, known),
  };
}

function runsOn({ minimumSystemVersion: minimum }: Release, systemVersion: string | null): boolean {
  return minimum === null || (systemVersion !== null && compareSystemVersions(systemVersion, minimum) >= 0);
}

/** The platform's highest minimum that a system meets: systems between the same two minimums share a cache key. */
function highestMinimum(
  { minimumSystemVersions }: Snapshot,
  { platform }: ReleaseSelector,
  systemVersion: string,
): string | null {
  const ascending = minimumSystemVersions.get(platform) ?? [];
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareSystemVersions(systemVersion, ascending[middle] ?? "") >= 0) low = middle + 1;
    else high = middle;
  }
  return ascending[low - 1] ?? null;
}
