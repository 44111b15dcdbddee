import type { Release } from "../../../releases/schema";

/** A part of all clients: `share` of them, from 0 to 1, are at these positions of the rollouts' draws. */
export type Draw = { share: number; reaches: (release: Release) => boolean };

/** Rollouts that divide the clients. Further ones reach nobody: each of them multiplies the parts by up to three. */
const MAX_DRAWS = 4;

/**
 * Divides clients by the rollouts that may reach them, so that all clients of a part get the same. `releases` are those
 * before and after a change, newest first; a client's position is the same in both. Exact, as `isInRollout` draws each
 * release or series independently.
 */
export function divideClients(releases: readonly Release[]): Draw[] {
  const thresholds = new Map<string, Set<number>>();
  for (const release of releases) {
    if (release.rollout <= 0 || release.rollout >= 100) continue;
    const known = thresholds.get(drawOf(release));
    if (known) known.add(release.rollout);
    else if (thresholds.size < MAX_DRAWS) thresholds.set(drawOf(release), new Set([release.rollout]));
  }
  let parts = [{ share: 1, positions: new Map<string, number>() }];
  for (const [draw, rollouts] of thresholds) {
    const bounds = [0, ...[...rollouts].sort((a, b) => a - b), 100];
    const intervals = bounds.slice(1).map((end, i) => ({ start: bounds[i] ?? 0, end }));
    parts = parts.flatMap(({ share, positions }) =>
      intervals.map(({ start, end }) => ({
        share: (share * (end - start)) / 100,
        positions: new Map([...positions, [draw, start]]),
      })),
    );
  }
  return parts.map(({ share, positions }) => ({
    share,
    reaches: (release) => (positions.get(drawOf(release)) ?? 100) < release.rollout,
  }));
}

const drawOf = ({ id, rolloutSeries }: Release) => rolloutSeries ?? id;
