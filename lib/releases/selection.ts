import { compareBuild, type SemVer } from "semver";
import { releasesOf, type Snapshot, versionsOf } from "./catalog/snapshot";
import { isInRollout } from "./rollout";
import { type Artifact, Kind, type Release } from "./schema";
import type { Wanted } from "./wanted";

/** One artifact of a release. */
export type Offer = { kind: Kind; artifact: Artifact };

/** Finds what somebody can use of a release: undefined passes the release over. One constant for each reader. */
export type Taker = (release: Release) => Offer | undefined;

/** Who asks: `clientId` decides on rollouts, `current` is the version that is installed. */
export type Caller = { clientId?: string | undefined; current?: SemVer | undefined };

/** `isPersonal`: with another client id it might be another release. */
export type Choice = { release: Release | undefined; isPersonal: boolean };

/** Newer releases that are still being rolled out count as long as there are so few of them. */
const MOST_ROLLOUTS = 4;

/** Whose build runs where there is no own one. A universal build is native, so a newer one wins over an own. */
const FALL_BACKS: ReadonlyMap<string, { architecture: string; whenNewer: boolean }> = new Map([
  ["macos/x64", { architecture: "universal", whenNewer: true }],
  ["macos/arm64", { architecture: "universal", whenNewer: true }],
  ["windows/arm64", { architecture: "x64", whenNewer: false }],
]);

/**
 * The newest release that a reader takes: rolled out to everybody, or to this client. Of those that are being
 * rolled out the newest four are looked at. Whoever has one of them already keeps it.
 */
export function selectRelease(snapshot: Snapshot, wanted: Wanted, take: Taker, caller: Caller = {}): Choice {
  const own = choose(candidatesOf(releasesOf(snapshot, wanted), take), caller);
  const fallBack = FALL_BACKS.get(`${wanted.platform}/${wanted.architecture}`);
  if (!fallBack || (own.release && !fallBack.whenNewer)) return own;
  const there = releasesOf(snapshot, { ...wanted, architecture: fallBack.architecture });
  const other = choose(candidatesOf(there, take), caller);
  return {
    release: prefer(own.release, other.release, fallBack.whenNewer),
    isPersonal: own.isPersonal || other.isPersonal,
  };
}

/**
 * One version of what somebody wants, rolled out or not, since the caller names it. The named channel's own
 * build comes before a stable one of the same version; where no channel is named, any channel's will do.
 */
export function findVersion(
  snapshot: Snapshot,
  wanted: Omit<Wanted, "channel">,
  version: SemVer,
  channel?: string,
): Release | undefined {
  const find = (where: Omit<Wanted, "channel">) => {
    const same = versionsOf(snapshot, where, version);
    const of = (name: string) => same.find((release) => release.channel === name);
    return channel === undefined ? (of("stable") ?? same[0]) : (of(channel) ?? of("stable"));
  };
  const fallBack = FALL_BACKS.get(`${wanted.platform}/${wanted.architecture}`);
  return find(wanted) ?? (fallBack && find({ ...wanted, architecture: fallBack.architecture }));
}

/**
 * Older releases for systems that a chosen one does not run on, newest first: each with a lower
 * `minimumSystemVersion` than the one before it.
 */
export function forOlderSystems(snapshot: Snapshot, wanted: Wanted, take: Taker, chosen: Release): Release[] {
  const list = releasesOf(snapshot, { ...wanted, architecture: chosen.architecture });
  const found: Release[] = [];
  let lowest = chosen.minimumSystemVersion;
  for (const release of list.slice(list.indexOf(chosen) + 1)) {
    if (lowest === null) break;
    const needs = release.minimumSystemVersion;
    if (release.rollout < 100 || !take(release) || (needs !== null && !isBelow(needs, lowest))) continue;
    found.push(release);
    lowest = needs;
  }
  return found;
}

/**
 * What a release means to a caller that has `current`. An older release is an update only as a rollback; an
 * update is mandatory where it is critical or the caller's version is no longer supported.
 */
export function judgeUpdate(release: Release, current: SemVer): { updateAvailable: boolean; mandatory: boolean } {
  const order = release.version.compare(current);
  const updateAvailable = order > 0 || (order < 0 && release.rollback);
  const unsupported = release.minimumSupportedVersion !== null && current.compare(release.minimumSupportedVersion) < 0;
  return { updateAvailable, mandatory: updateAvailable && (release.critical || unsupported) };
}

/** The artifact that a release is known by: the installer, else what it has. */
export const mainArtifact: Taker = (release) => {
  for (const kind of Kind.options) {
    const artifact = release.artifacts[kind];
    if (artifact) return { kind, artifact };
  }
  return undefined;
};

const ofKind =
  (kind: Kind): Taker =>
  ({ artifacts }) =>
    artifacts[kind] && { kind, artifact: artifacts[kind] };

/** Whoever asks for one kind of artifact. */
export const KINDS: Readonly<Record<Kind, Taker>> = { installer: ofKind("installer"), update: ofKind("update") };

/** What of one list can be chosen at all; nothing older than `newest` ever is. */
type Candidates = {
  /** The newest that everybody gets. */
  newest: Release | undefined;
  /** Newer ones that some get, newest first. */
  partial: readonly Release[];
  /** All newer ones that not everybody gets, paused rollouts among them, by version. */
  installed: ReadonlyMap<string, Release>;
};

/** By list, which no two snapshots share: a new catalog starts afresh. */
const candidates = new WeakMap<readonly Release[], Map<Taker, Candidates>>();

function candidatesOf(list: readonly Release[], take: Taker): Candidates {
  const known = candidates.get(list)?.get(take);
  if (known) return known;
  const taken = list.filter((release) => take(release) !== undefined);
  const at = taken.findIndex(({ rollout }) => rollout === 100);
  const ahead = at < 0 ? taken : taken.slice(0, at);
  const made = {
    newest: taken[at],
    partial: ahead.filter(({ rollout }) => rollout > 0).slice(0, MOST_ROLLOUTS),
    installed: new Map(ahead.toReversed().map((release) => [release.version.version, release])),
  };
  candidates.set(list, (candidates.get(list) ?? new Map<Taker, Candidates>()).set(take, made));
  return made;
}

function choose({ newest, partial, installed }: Candidates, { clientId, current }: Caller): Choice {
  const drawn = clientId === undefined ? undefined : partial.find((release) => isInRollout(release, clientId));
  const has = current && installed.get(current.version);
  return { release: prefer(drawn, has, true) ?? newest, isPersonal: partial.length > 0 };
}

/** The first, unless it is missing, or the second is newer and may win by that. */
function prefer(one: Release | undefined, other: Release | undefined, whenNewer: boolean): Release | undefined {
  if (!one || !other) return one ?? other;
  return whenNewer && compareBuild(other.version, one.version) > 0 ? other : one;
}

/** Whether one system version comes before another: numbers between dots, missing ones are 0. */
function isBelow(one: string, other: string): boolean {
  const [a, b] = [one.split(".").map(Number), other.split(".").map(Number)];
  const at = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => (a[i] ?? 0) - (b[i] ?? 0));
  return (at.find((difference) => difference !== 0) ?? 0) < 0;
}
