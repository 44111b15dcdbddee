import type { SemVer } from "semver";
import type { Snapshot } from "../catalog/snapshot";
import type { Delta, Release } from "../schema";
import type { ReleaseSelector } from "../selection/parse-query";
import { candidateLists } from "../selection/select-release";

/** Velopack downloads the whole package instead of more (UpdateOptions.MaximumDeltasBeforeFallback). */
const MAX_DELTAS = 10;

export type ChainedDelta = { release: Release; delta: Delta };

/**
 * The deltas from an installed version to a release, in order. Empty if the chain has a gap, which would break the
 * update, or is not smaller than `fullBytes`.
 */
export function deltaChain(
  snapshot: Snapshot,
  selector: ReleaseSelector,
  range: { from: SemVer; to: Release; fullBytes: number },
  isSuitable: (delta: Delta, release: Release) => boolean,
): ChainedDelta[] {
  const newestFirst = candidateLists(snapshot, selector)
    .flat()
    .filter(
      ({ architecture, version }) => architecture === range.to.architecture && version.compare(range.to.version) <= 0,
    );
  const chain: ChainedDelta[] = [];
  let at = range.from;
  let sizeBytes = 0;
  while (at.compare(range.to.version) < 0) {
    const next = findDelta(newestFirst, at, isSuitable);
    if (!next || chain.length === MAX_DELTAS) return [];
    chain.push(next);
    sizeBytes += next.delta.sizeBytes;
    at = next.release.version;
  }
  return sizeBytes < range.fullBytes ? chain : [];
}

/** The delta that leads furthest. */
function findDelta(
  newestFirst: readonly Release[],
  from: SemVer,
  isSuitable: (delta: Delta, release: Release) => boolean,
): ChainedDelta | undefined {
  for (const release of newestFirst) {
    if (release.version.compare(from) <= 0) return undefined;
    const delta = release.artifacts.deltas.find((one) => one.from.compare(from) === 0 && isSuitable(one, release));
    if (delta) return { release, delta };
  }
  return undefined;
}
