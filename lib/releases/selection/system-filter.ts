import type { SemVer } from "semver";
import type { Snapshot } from "../catalog/snapshot";
import { minimumSystemVersionOf } from "../catalog/snapshot";
import type { Release } from "../schema";
import { compareSystemVersions } from "../system-version";
import type { ReleaseSelector } from "./release-selector";

/** Which releases run on the caller's system. Two with one `key` say the same of every release of a catalog. */
export type SystemFilter = { key: string; supports: (release: Release) => boolean };

/** What is known of the caller's system. */
type Asked = {
  /** As the caller names it. */
  systemVersion?: string | undefined;
  /** The version that is installed. */
  current?: SemVer | undefined;
  /** Whether the updater compares a release's `minimumSystemVersion` itself. */
  comparesSystem: (release: Release) => boolean;
};

/** For callers whose system does not matter. */
export const ANY_SYSTEM: SystemFilter = { key: "any", supports: () => true };

/**
 * What may be offered by `minimumSystemVersion`. Where the caller names its system, whatever runs there. Where it does
 * not, what its updater compares itself, and what needs no newer system than the installed release does.
 */
export function systemFilter(snapshot: Snapshot, wanted: ReleaseSelector, asked: Asked): SystemFilter {
  const { systemVersion, current, comparesSystem } = asked;
  if (systemVersion !== undefined) {
    const highest = highestMinimum(snapshot, wanted, systemVersion);
    return { key: `on ${highest}`, supports: (release) => runsOn(release, highest) };
  }
  const known = current ? minimumSystemVersionOf(snapshot, wanted, current) : null;
  return { key: `known ${known}`, supports: (release) => comparesSystem(release) || runsOn(release, known) };
}

function runsOn({ minimumSystemVersion: minimum }: Release, systemVersion: string | null): boolean {
  return minimum === null || (systemVersion !== null && compareSystemVersions(systemVersion, minimum) >= 0);
}

/** The highest of the platform's minimums that a system reaches: all systems between two of them are one. */
function highestMinimum(
  { minimumSystemVersions: minimumSystems }: Snapshot,
  { platform }: ReleaseSelector,
  systemVersion: string,
): string | null {
  const ascending = minimumSystems.get(platform) ?? [];
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareSystemVersions(systemVersion, ascending[middle] ?? "") >= 0) low = middle + 1;
    else high = middle;
  }
  return ascending[low - 1] ?? null;
}
