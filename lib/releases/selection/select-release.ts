import { hash } from "node:crypto";
import { compareBuild, type SemVer } from "semver";
import { perObject } from "../../platform/per-object";
import { channelReleases, productVersions, type Snapshot, versionReleases } from "../catalog/snapshot";
import { compareSystemVersions, FALLBACKS } from "../platforms";
import type { Artifact, ArtifactKind, Release } from "../schema";
import type { ReleaseSelector } from "./parse-query";
import { ANY_SYSTEM, type SystemFilter } from "./system-filter";

/** Which releases a client may update to. Paths with the same `key` permit the same releases of a catalog. */
type UpgradePath = { key: string; permits: (release: Release) => boolean };

const ANY: UpgradePath = { key: "", permits: () => true };

/** Permits the releases whose `requiresFrom` the installed version meets. An unknown version meets all of them. */
function upgradePath(snapshot: Snapshot, selector: ReleaseSelector, current: SemVer | undefined): UpgradePath {
  const { required } = productVersions(snapshot, selector);
  const newest = required.at(-1);
  if (!newest || !current || current.compare(newest) >= 0) return ANY;
  const met = required.findLast((version) => current.compare(version) >= 0);
  return {
    key: `from ${met}`,
    permits: ({ requiresFrom }) => requiresFrom === null || (met !== undefined && requiresFrom.compare(met) <= 0),
  };
}

/** Picks the artifact of a release that a client can use; undefined if there is none. Caches are keyed by selector. */
export type ArtifactSelector = (release: Release) => Artifact | undefined;

/** What is known of the client: `clientId` decides on rollouts, or `reaches` does; `current` is the installed version. */
export type Client = {
  clientId?: string | undefined;
  reaches?: (release: Release) => boolean;
  current?: SemVer | undefined;
  system?: SystemFilter;
};

/** `isClientSpecific`: another client id could lead to another release. */
export type Selection = { release: Release | undefined; isClientSpecific: boolean };

const MAX_CONCURRENT_ROLLOUTS = 4;

/**
 * Selects the newest release that has a suitable artifact, runs on the client's system, and reaches this client.
 * Considers the four newest partial rollouts. A client that has one of them keeps it.
 */
export function selectRelease(
  snapshot: Snapshot,
  selector: ReleaseSelector,
  selectArtifact: ArtifactSelector,
  client: Client = {},
): Selection {
  let isClientSpecific = false;
  let paused: Release | undefined;
  const path = upgradePath(snapshot, selector, client.current);
  for (const list of candidateLists(snapshot, selector)) {
    const candidates = candidatesOf(list, selectArtifact, client.system ?? ANY_SYSTEM, path);
    const selection = selectFrom(candidates, client);
    isClientSpecific ||= selection.isClientSpecific;
    // The fallback may have a rollback for a client with a paused release.
    if (selection.release && !candidates.newest && selection.release.rollout === 0) paused ??= selection.release;
    else if (selection.release && (!paused || selection.release.rollback)) {
      return { release: selection.release, isClientSpecific };
    }
  }
  return { release: paused, isClientSpecific };
}

/** The architectures whose builds run on the client, its own first. */
export function suitableArchitectures({ platform, architecture }: ReleaseSelector): string[] {
  const fallback = FALLBACKS.get(`${platform}/${architecture}`);
  return fallback ? [architecture, fallback.architecture] : [architecture];
}

/** Lists with a fallback, by selector: the catalog knows a bounded number of selectors. */
const listsOf = perObject((_snapshot: Snapshot) => new Map<string, (readonly Release[])[]>());

/** The releases that a selector can get, newest first, fallbacks included. The first list with a match decides. */
export function candidateLists(snapshot: Snapshot, selector: ReleaseSelector): readonly (readonly Release[])[] {
  const own = channelReleases(snapshot, selector);
  const fallback = FALLBACKS.get(`${selector.platform}/${selector.architecture}`);
  if (!fallback) return [own];
  const lists = listsOf(snapshot);
  const key = `${selector.platform}/${selector.product}/${selector.architecture}/${selector.channel}`;
  const known = lists.get(key);
  if (known) return known;
  const other = channelReleases(snapshot, { ...selector, architecture: fallback.architecture });
  // The sort is stable: of one version the own build comes first.
  const merge = () => [...own, ...other].sort((a, b) => compareBuild(b.version, a.version));
  const found = fallback.winsIfNewer ? [merge()] : [own, other];
  lists.set(key, found);
  return found;
}

/** Finds one version, whatever its rollout: on the channel or on stable; without a `channel`, on any. */
export function findVersion(
  snapshot: Snapshot,
  selector: Omit<ReleaseSelector, "channel">,
  version: SemVer,
  channel?: string,
  selectArtifact: (release: Release) => unknown = () => true,
): Release | undefined {
  const find = (target: Omit<ReleaseSelector, "channel">) => {
    const builds = versionReleases(snapshot, target, version).filter(selectArtifact);
    const onChannel = (name: string) => builds.find((release) => release.channel === name);
    // Stable comes first.
    return channel === undefined ? builds[0] : (onChannel(channel) ?? onChannel("stable"));
  };
  const fallback = FALLBACKS.get(`${selector.platform}/${selector.architecture}`);
  return find(selector) ?? (fallback && find({ ...selector, architecture: fallback.architecture }));
}

/** Older releases for clients that cannot install `selected`, newest first: for an older system or version each. */
export function findReleasesForOlderSystems(
  snapshot: Snapshot,
  selector: ReleaseSelector,
  selectArtifact: ArtifactSelector,
  selected: Release,
  { supports }: SystemFilter = ANY_SYSTEM,
): Release[] {
  const list = channelReleases(snapshot, { ...selector, architecture: selected.architecture });
  const found = [selected];
  for (const release of list.slice(list.indexOf(selected) + 1)) {
    if (found.some((one) => one.minimumSystemVersion === null && one.requiresFrom === null)) break;
    if (release.rollout < 100 || !selectArtifact(release) || !supports(release)) continue;
    if (!found.some((newer) => servesAllClientsOf(newer, release))) found.push(release);
  }
  return found.slice(1);
}

/** Whether every system and installed version that can have `older` can have `newer` as well. */
function servesAllClientsOf(newer: Release, older: Release): boolean {
  const [system, other] = [newer.minimumSystemVersion, older.minimumSystemVersion];
  const runs = system === null || (other !== null && compareSystemVersions(system, other) <= 0);
  const [from, otherFrom] = [newer.requiresFrom, older.requiresFrom];
  return runs && (from === null || (otherFrom !== null && from.compare(otherFrom) <= 0));
}

/** Picks the installer, else the update, else another file. */
export const selectPrimaryArtifact: ArtifactSelector = ({ artifacts }) =>
  artifacts.installer ?? artifacts.update ?? artifacts.others[0];

export const SELECTORS_BY_KIND: Readonly<Record<ArtifactKind, ArtifactSelector>> = {
  installer: ({ artifacts }) => artifacts.installer,
  update: ({ artifacts }) => artifacts.update,
};

/** The releases of one list that can be selected. */
type Candidates = {
  /** The newest release with a full rollout. Nothing older is ever selected. */
  newest: Release | undefined;
  /** Newer releases with a partial rollout, newest first. */
  partial: readonly Release[];
  /** All newer releases without a full rollout, paused ones included, by version: a client may have one installed. */
  unfinished: ReadonlyMap<string, Release>;
};

/** Keyed by list: no two snapshots share one, so that a new catalog starts with an empty cache. */
const cachedCandidates = new WeakMap<readonly Release[], Map<ArtifactSelector, Map<string, Candidates>>>();

/** A catalog may have many minimums and required versions, and clients choose among them. */
const MAX_CACHED_CANDIDATES = 1_000;

function candidatesOf(
  list: readonly Release[],
  selectArtifact: ArtifactSelector,
  system: SystemFilter,
  path: UpgradePath,
): Candidates {
  const key = path.key === "" ? system.key : `${system.key} ${path.key}`;
  const known = cachedCandidates.get(list)?.get(selectArtifact)?.get(key);
  if (known) return known;
  const suitable = list.filter(
    (release) => selectArtifact(release) !== undefined && system.supports(release) && path.permits(release),
  );
  const at = suitable.findIndex(({ rollout }) => rollout === 100);
  const newer = at < 0 ? suitable : suitable.slice(0, at);
  const made = {
    newest: suitable[at],
    partial: newer.filter(({ rollout }) => rollout > 0).slice(0, MAX_CONCURRENT_ROLLOUTS),
    unfinished: new Map(newer.toReversed().map((release) => [release.version.version, release])),
  };
  const bySelector = cachedCandidates.get(list) ?? new Map<ArtifactSelector, Map<string, Candidates>>();
  const bySystem = bySelector.get(selectArtifact) ?? new Map<string, Candidates>();
  if (bySystem.size >= MAX_CACHED_CANDIDATES) bySystem.clear();
  cachedCandidates.set(list, bySelector.set(selectArtifact, bySystem.set(key, made)));
  return made;
}

function selectFrom(
  { newest, partial, unfinished }: Candidates,
  { clientId, current, reaches: isReached }: Client,
): Selection {
  const isIncluded = (release: Release) => clientId !== undefined && isInRollout(release, clientId);
  const reaches = isReached ?? isIncluded;
  const offered = partial.find(reaches) ?? newest;
  const isClientSpecific = partial.length > 0;
  const installed = current && unfinished.get(current.version);
  const isNewer = installed && (!offered || compareBuild(installed.version, offered.version) > 0);
  if (!isNewer) return { release: offered, isClientSpecific };
  // A release stays installed, unless it is paused and the client can roll back.
  const isRollback = (release: Release) => release.rollback && (release === newest || reaches(release));
  const rollback = installed.rollout === 0 ? [...partial, newest].find((one) => one && isRollback(one)) : undefined;
  return { release: rollback ?? installed, isClientSpecific };
}

/** A client's position in a release's rollout, from 0 to 99.99 percent, the same on every instance. */
export function rolloutBucket(releaseId: string, clientId: string): number {
  return (Number.parseInt(hash("sha256", releaseId + clientId).slice(0, 8), 16) % 10_000) / 100;
}

type Rollout = Pick<Release, "id" | "rollout"> & Partial<Pick<Release, "rolloutSeries">>;

/** Whether a rollout includes a client. A higher `rollout` only adds clients; a series includes the same ones first. */
export function isInRollout({ id, rollout, rolloutSeries }: Rollout, clientId: string): boolean {
  return rolloutBucket(rolloutSeries ?? id, clientId) < rollout;
}
