import type { SemVer } from "semver";
import { minimumSystemVersionOf, type Snapshot } from "../catalog/snapshot";
import { compareSystemVersions } from "../platforms";
import type { Release } from "../schema";
import type { ReleaseSelector } from "./parse-query";

/** Which releases run on the client's system. Filters with the same `key` accept the same releases of a catalog. */
export type SystemFilter = { key: string; supports: (release: Release) => boolean };

type SystemInput = {
  systemVersion?: string | undefined;
  current?: SemVer | undefined;
  /** The oldest system version that the client may have, from its User-Agent. */
  atLeast?: string | undefined;
  /** Whether the updater itself compares a release's `minimumSystemVersion`. */
  comparesSystemVersion: (release: Release) => boolean;
};

/** Accepts every release, for requests that do not depend on the client's system. */
export const ANY_SYSTEM: SystemFilter = { key: "any", supports: () => true };

/**
 * Accepts releases that run on `systemVersion`. Without one, what the updater compares itself, and what needs no newer
 * system than the installed release or the User-Agent's.
 */
export function systemFilter(snapshot: Snapshot, selector: ReleaseSelector, input: SystemInput): SystemFilter {
  const { systemVersion, current, atLeast = null, comparesSystemVersion } = input;
  if (systemVersion !== undefined) {
    const highest = highestMinimum(snapshot, selector, systemVersion);
    return { key: `on ${highest}`, supports: (release) => runsOn(release, highest) };
  }
  const installed = (current && minimumSystemVersionOf(snapshot, selector, current)) ?? null;
  const isNewer = atLeast !== null && (installed === null || compareSystemVersions(atLeast, installed) > 0);
  const known = isNewer ? highestMinimum(snapshot, selector, atLeast) : installed;
  return { key: `known ${known}`, supports: (release) => comparesSystemVersion(release) || runsOn(release, known) };
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
  return ascending.findLast((minimum) => compareSystemVersions(systemVersion, minimum) >= 0) ?? null;
}

/** The oldest macOS of a client that names Darwin, as Squirrel.Mac does: `App/1 CFNetwork/1494.0.7 Darwin/23.4.0`. */
export function systemOfUserAgent(userAgent: string | null): string | undefined {
  const darwin = Number(/\bDarwin\/(\d{1,3})\b/.exec(userAgent ?? "")?.[1] ?? 0);
  if (darwin < 5) return undefined;
  if (darwin < 20) return `10.${darwin - 4}`;
  return String(darwin < 25 ? darwin - 9 : darwin + 1);
}
