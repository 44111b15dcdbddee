import type { SemVer } from "semver";
import type { Snapshot } from "../catalog/snapshot";
import { formatVersion, type Release } from "../schema";
import { parseInstalledVersion } from "../selection/installed-version";
import type { ReleaseSelector } from "../selection/parse-query";
import { candidateLists, selectPrimaryArtifact, selectRelease } from "../selection/select-release";
import { evaluateUpdate, supportPolicyOf } from "../selection/support-policy";
import type { Offer, PreviewRow } from "./schema";

/** A part of all clients: `share` of them, from 0 to 1. `reaches` returns whether a release's rollout includes them. */
type ClientSegment = { share: number; reaches: (release: Release) => boolean };

/** Rollouts that divide the clients. Further ones reach nobody: each of them multiplies the segments by up to three. */
const MAX_ROLLOUTS = 4;

/**
 * Divides clients by the rollouts that may reach them, so that all clients of a segment get the same, before and after
 * a change. Exact, because `isInRollout` decides on each release or series independently.
 */
function segmentClients(releases: readonly Release[]): ClientSegment[] {
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

/** Clients of one kind: what they ask for, and the version that they run; null for new installations. */
export type ClientGroup = ReleaseSelector & { installed: string | null; clients: number };

/** The catalog before and after a change, with the percentages of schedules. */
type Change = { before: Snapshot; after: Snapshot };

type OfferedUpdate = Omit<Offer, "share">;

/**
 * Which release each group of clients gets before and after a change, as `/api/version` selects it for clients that
 * send an id and run on a system that every release supports. Returns the groups whose offer changes.
 */
export function compareOffers(change: Change, groups: readonly ClientGroup[]): PreviewRow[] {
  return groups.flatMap((group) => compareGroup(change, group) ?? []);
}

function compareGroup({ before, after }: Change, group: ClientGroup): PreviewRow | null {
  const current = group.installed === null ? undefined : parseInstalledVersion(group.installed)?.version;
  if (group.installed !== null && !current) return null;
  const releases = [before, after].flatMap((snapshot) => candidateLists(snapshot, group).flat());
  const segments = segmentClients(releases);
  const offers = segments.map((segment) => ({
    share: segment.share,
    before: offeredUpdate(before, group, current, segment),
    after: offeredUpdate(after, group, current, segment),
  }));
  const changed = offers.filter((offer) => keyOf(offer.before) !== keyOf(offer.after));
  if (changed.length === 0) return null;
  return {
    ...group,
    changedShare: roundShare(changed.reduce((sum, { share }) => sum + share, 0)),
    before: addUp(offers.map((offer) => ({ ...offer.before, share: offer.share }))),
    after: addUp(offers.map((offer) => ({ ...offer.after, share: offer.share }))),
  };
}

const NOTHING: OfferedUpdate = { version: null, isMandatory: false, isOlder: false };

function offeredUpdate(
  snapshot: Snapshot,
  group: ClientGroup,
  current: SemVer | undefined,
  { reaches }: ClientSegment,
): OfferedUpdate {
  const { release } = selectRelease(snapshot, group, selectPrimaryArtifact, { current, reaches });
  if (!release) return NOTHING;
  if (!current) return { ...NOTHING, version: formatVersion(release.version) };
  const policy = supportPolicyOf(snapshot, group, release);
  const { updateAvailable, mandatory } = evaluateUpdate(release, current, policy);
  if (!updateAvailable) return NOTHING;
  const isOlder = release.version.compare(current) < 0;
  return { version: formatVersion(release.version), isMandatory: mandatory, isOlder };
}

const keyOf = ({ version, isMandatory }: OfferedUpdate) => `${version} ${isMandatory}`;

/** One offer for equal updates, the most frequent first. */
function addUp(offers: readonly Offer[]): Offer[] {
  const sums = new Map<string, Offer>();
  for (const offer of offers) {
    const known = sums.get(keyOf(offer));
    sums.set(keyOf(offer), { ...offer, share: offer.share + (known?.share ?? 0) });
  }
  const all = [...sums.values()].map((offer) => ({ ...offer, share: roundShare(offer.share) }));
  return all.filter(({ share }) => share > 0).sort((a, b) => b.share - a.share);
}

/** To a ten-thousandth: the sum of shares has errors of floating point. */
function roundShare(share: number): number {
  return Math.min(1, Math.round(share * 10_000) / 10_000);
}
