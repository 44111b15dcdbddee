import { compareBuild, type SemVer } from "semver";
import { channelReleases, type Snapshot, versionReleases } from "../catalog/snapshot";
import { type Artifact, Kind, type Release } from "../schema";
import { compareSystemVersions } from "../system-version";
import type { ReleaseSelector } from "./release-selector";
import { isInRollout } from "./rollout";
import { ANY_SYSTEM, type SystemFilter } from "./system-filter";

/** One artifact of a release. */
export type SelectedArtifact = { kind: Kind; artifact: Artifact };

/** Finds what somebody can use of a release: undefined passes the release over. One constant for each reader. */
export type ArtifactSelector = (release: Release) => SelectedArtifact | undefined;

/** Who asks: `clientId` decides on rollouts, `current` is the version that is installed. */
export type Client = {
  clientId?: string | undefined;
  current?: SemVer | undefined;
  system?: SystemFilter;
};

/** `isPersonal`: with another client id it might be another release. */
export type Selection = { release: Release | undefined; isClientSpecific: boolean };

/** Newer releases that are still being rolled out count as long as there are so few of them. */
const MOST_ROLLOUTS = 4;

/** Whose build runs where there is no own one. A universal build is native, so a newer one wins over an own. */
const FALL_BACKS: ReadonlyMap<string, { architecture: string; whenNewer: boolean }> = new Map([
  ["macos/x64", { architecture: "universal", whenNewer: true }],
  ["macos/arm64", { architecture: "universal", whenNewer: true }],
  ["windows/arm64", { architecture: "x64", whenNewer: false }],
]);

/**
 * The newest release that a reader takes and that runs on the caller's system: rolled out to everybody, or to this
 * client. Of those that are being rolled out the newest four are looked at. Whoever has one of them already keeps it.
 */
export function selectRelease(
  snapshot: Snapshot,
  wanted: ReleaseSelector,
  take: ArtifactSelector,
  caller: Client = {},
): Selection {
  let isPersonal = false;
  for (const list of candidateLists(snapshot, wanted)) {
    const choice = choose(candidatesOf(list, take, caller.system ?? ANY_SYSTEM), caller);
    isPersonal ||= choice.isClientSpecific;
    if (choice.release) return { release: choice.release, isClientSpecific: isPersonal };
  }
  return { release: undefined, isClientSpecific: isPersonal };
}

/** By the words of a question, of which the catalog knows so many. */
const lists = new WeakMap<Snapshot, Map<string, (readonly Release[])[]>>();

/** What somebody can get at all, newest first: from the first list that has something, including fall-backs. */
export function candidateLists(snapshot: Snapshot, wanted: ReleaseSelector): readonly (readonly Release[])[] {
  const own = channelReleases(snapshot, wanted);
  const fallBack = FALL_BACKS.get(`${wanted.platform}/${wanted.architecture}`);
  if (!fallBack) return [own];
  const made = lists.get(snapshot) ?? new Map<string, (readonly Release[])[]>();
  lists.set(snapshot, made);
  const key = `${wanted.platform}/${wanted.product}/${wanted.architecture}/${wanted.channel}`;
  const known = made.get(key);
  if (known) return known;
  const other = channelReleases(snapshot, { ...wanted, architecture: fallBack.architecture });
  // Sorting is stable, so that of one version the own build comes first.
  const merge = () => [...own, ...other].sort((a, b) => compareBuild(b.version, a.version));
  const found = fallBack.whenNewer ? [merge()] : [own, other];
  made.set(key, found);
  return found;
}

/**
 * One version of what somebody wants, rolled out or not, since the caller names it. The named channel's own
 * build comes before a stable one of the same version; where no channel is named, any channel's will do.
 */
export function findVersion(
  snapshot: Snapshot,
  wanted: Omit<ReleaseSelector, "channel">,
  version: SemVer,
  channel?: string,
): Release | undefined {
  const find = (where: Omit<ReleaseSelector, "channel">) => {
    const same = versionReleases(snapshot, where, version);
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
export function findReleasesForOlderSystems(
  snapshot: Snapshot,
  wanted: ReleaseSelector,
  take: ArtifactSelector,
  chosen: Release,
  { supports: runs }: SystemFilter = ANY_SYSTEM,
): Release[] {
  const list = channelReleases(snapshot, { ...wanted, architecture: chosen.architecture });
  const found: Release[] = [];
  let lowest = chosen.minimumSystemVersion;
  for (const release of list.slice(list.indexOf(chosen) + 1)) {
    if (lowest === null) break;
    const needs = release.minimumSystemVersion;
    if (release.rollout < 100 || !take(release) || !runs(release)) continue;
    if (needs !== null && compareSystemVersions(needs, lowest) >= 0) continue;
    found.push(release);
    lowest = needs;
  }
  return found;
}

/** The artifact that a release is known by: the installer, else what it has. */
export const selectPrimaryArtifact: ArtifactSelector = (release) => {
  for (const kind of Kind.options) {
    const artifact = release.artifacts[kind];
    if (artifact) return { kind, artifact };
  }
  return undefined;
};

const ofKind =
  (kind: Kind): ArtifactSelector =>
  ({ artifacts }) =>
    artifacts[kind] && { kind, artifact: artifacts[kind] };

/** Whoever asks for one kind of artifact. */
export const SELECTORS_BY_KIND: Readonly<Record<Kind, ArtifactSelector>> = {
  installer: ofKind("installer"),
  update: ofKind("update"),
};

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
const candidates = new WeakMap<readonly Release[], Map<ArtifactSelector, Map<string, Candidates>>>();

function candidatesOf(list: readonly Release[], take: ArtifactSelector, system: SystemFilter): Candidates {
  const known = candidates.get(list)?.get(take)?.get(system.key);
  if (known) return known;
  const taken = list.filter((release) => take(release) !== undefined && system.supports(release));
  const at = taken.findIndex(({ rollout }) => rollout === 100);
  const ahead = at < 0 ? taken : taken.slice(0, at);
  const made = {
    newest: taken[at],
    partial: ahead.filter(({ rollout }) => rollout > 0).slice(0, MOST_ROLLOUTS),
    installed: new Map(ahead.toReversed().map((release) => [release.version.version, release])),
  };
  const byTaker = candidates.get(list) ?? new Map<ArtifactSelector, Map<string, Candidates>>();
  candidates.set(list, byTaker.set(take, (byTaker.get(take) ?? new Map()).set(system.key, made)));
  return made;
}

function choose({ newest, partial, installed }: Candidates, { clientId, current }: Client): Selection {
  const drawn = clientId === undefined ? undefined : partial.find((release) => isInRollout(release, clientId));
  const offered = drawn ?? newest;
  const has = current && installed.get(current.version);
  const isNewer = has && (!offered || compareBuild(has.version, offered.version) > 0);
  // What is paused stays where it is installed, unless there is a rollback to go back to.
  const keeps = isNewer && !(has.rollout === 0 && offered?.rollback);
  return { release: keeps ? has : offered, isClientSpecific: partial.length > 0 };
}
