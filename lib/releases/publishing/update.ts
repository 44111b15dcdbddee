import { isDeepStrictEqual } from "node:util";
import { compareBuild } from "semver";
import { shareComputers } from "../platforms";
import type { Release } from "../schema";
import { selectReleases } from "./filter-releases";
import { changeManifest, type EditableManifest, type ManifestEntry } from "./manifest/manifest-file";
import type { ChangeRecord } from "./manifest/recorded-write";
import { parseRelease } from "./manifest/release-entry";
import { assertBuildVersionIncreases, assertRequiredVersion } from "./publish/publish-checks";
import type { ReleasesFilter } from "./schemas/maintenance";
import type { ChangedRelease } from "./schemas/releases";

export type UpdatedRelease = { id: string; outcome: "changed" | "unchanged" };

/** What a change makes of a manifest: `releases` are the parsed `entries`, as `result` describes. */
export type ManifestPlan<T> = Pick<EditableManifest, "entries" | "releases"> & { result: T };

/**
 * Changes published releases in one write: all that the filter selects, or none.
 * @throws AppError if the filter matches none, an id does not exist, or the service would reject a field
 */
export async function updateReleases(
  manifestFile: string,
  filter: ReleasesFilter,
  change: ChangedRelease,
  record?: ChangeRecord<UpdatedRelease[]>,
): Promise<UpdatedRelease[]> {
  return changeManifest(manifestFile, (manifest) => planUpdate(manifest, filter, change), record);
}

/** Applies a change to the releases that the filter selects. Writes nothing. @throws AppError */
export function planUpdate(
  { entries, releases }: Pick<EditableManifest, "entries" | "releases">,
  filter: ReleasesFilter,
  change: ChangedRelease,
): ManifestPlan<UpdatedRelease[]> {
  const selected = selectReleases(releases, filter);
  const names = Object.keys(change) as (keyof ChangedRelease)[];
  const changed = new Map<Release, { entry: ManifestEntry; parsed: Release }>();
  for (const [i, before] of entries.entries()) {
    const release = releases[i];
    if (!release || !selected.includes(release)) continue;
    const entry = applyChange(before, change);
    const parsed = parseRelease(entry);
    if (change.requiresFrom !== undefined) assertRequiredVersion(parsed);
    if (change.buildVersion !== undefined) assertBuildVersionIncreases(parsed, releases);
    if (names.some((name) => !isDeepStrictEqual(parsed[name], release[name]))) changed.set(release, { entry, parsed });
  }
  const outcomeOf = (release: Release) => (changed.has(release) ? "changed" : "unchanged");
  const result = selected.map((release) => ({ id: release.id, outcome: outcomeOf(release) }) as const);
  if (changed.size === 0) return { entries, releases, result };
  return {
    entries: entries.map((entry, i) => changed.get(releases[i] as Release)?.entry ?? entry),
    releases: releases.map((release) => changed.get(release)?.parsed ?? release),
    result,
  };
}

function applyChange(entry: ManifestEntry, change: ChangedRelease): ManifestEntry {
  const fields = Object.entries({ ...entry, ...change });
  return Object.fromEntries(fields.filter(([name, value]) => !(name in change && value === null)));
}

/**
 * The ids of releases that are newer than one of `ids` on its channel, still served to some clients, and for the same
 * computers.
 */
export function findNewerServedReleases(releases: readonly Release[], ids: readonly string[]): string[] {
  const streamOf = ({ product, platform, channel }: Release) => [product, platform, channel].join("/");
  const older = releases.filter(({ id }) => ids.includes(id));
  const isNewer = (release: Release) =>
    older.some(
      (other) =>
        streamOf(release) === streamOf(other) &&
        shareComputers(release.architecture, other.architecture) &&
        compareBuild(release.version, other.version) > 0,
    );
  return releases.filter((release) => !release.yanked && release.rollout > 0 && isNewer(release)).map(({ id }) => id);
}
