import type { Release } from "../../schema";

/** A part of all clients: `share` of them, from 0 to 1. `reaches` returns whether a release's rollout includes them. */
export type ClientSegment = { share: number; reaches: (release: Release) => boolean };

/** Rollouts that divide the clients. Further ones reach nobody: each of them multiplies the segments by up to three. */
const MAX_ROLLOUTS = 4;

/**
 * Divides clients by the rollouts that may reach them, so that all clients of a segment get the same. `releases` are those
 * before and after a change, newest first; a client's position is the same in both. Exact, because `isInRollout`
 * decides on each release or series independently.
 */
export function segmentClients(releases: readonly Release[]): ClientSegment[] {
  const thresholds = new Map<string, Set<number>>();
  for (const release of releases) {
    if (release.rollout <= 0 || release.rollout >= 100) continue;
    const known = thresholds.get(seriesOf(release));
    if (known) known.add(release.rollout);
    else if (thresholds.size < MAX_ROLLOUTS) thresholds.set(seriesOf(release), new Set([release.rollout]));
  }
  let segments = [{ share: 1, positions: new Map<string, number>() }];
  for (const [series, rollouts] of thresholds) {
    const bounds = [0, ...[...rollouts].sort((a, b) => a - b), 100];
    const intervals = bounds.slice(1).map((end, i) => ({ start: bounds[i] ?? 0, end }));
    segments = segments.flatMap(({ share, positions }) =>
      intervals.map(({ start, end }) => ({
        share: (share * (end - start)) / 100,
        positions: new Map([...positions, [series, start]]),
      })),
    );
  }
  return segments.map(({ share, positions }) => ({
    share,
    reaches: (release) => (positions.get(seriesOf(release)) ?? 100) < release.rollout,
  }));
}

const seriesOf = ({ id, rolloutSeries }: Release) => rolloutSeries ?? id;
