import { readdir, realpath, rm, rmdir, stat } from "node:fs/promises";
import path from "node:path";
import { compareBuild } from "semver";
import { AppError } from "../../errors";
import type { WithAccess } from "../access";
import { resolveArtifactPath } from "../artifact-files";
import { groupBy } from "../catalog/snapshot";
import { storedFiles } from "../release-files";
import { SAMPLE_KEY_FILE } from "../sample/sample-catalog";
import { formatVersion, type Release } from "../schema";
import { removeStaleParts } from "./files/build-file";
import { filterReleases, selectReleases } from "./filter-releases";
import { changeManifest, type EditableManifest, readManifest } from "./manifest-file";
import type { ChangeRecord } from "./recorded-write";
import type { CatalogPrune, PrunedCatalog, ReleasesFilter, Removal, RemovalResult } from "./schema";

/** The folders that publishing creates: the first 16 digits of the file's SHA-256. */
const CONTENT_FOLDER = /^[0-9a-f]{16}$/;

/**
 * Removes releases in one write, and the files that no other release has. A download that has started continues.
 * @throws AppError release_in_use if a release is offered to clients; release_not_found
 */
export async function removeReleases(
  manifestFile: string,
  filter: WithAccess<ReleasesFilter>,
  { isForced, isDryRun }: Omit<Removal, "filter">,
  record?: ChangeRecord<RemovalResult>,
): Promise<RemovalResult> {
  const select = (releases: readonly Release[]) => {
    const removed = selectReleases(releases, filter);
    if (!isForced) assertNotOffered(removed);
    return removed;
  };
  const extent = { isDryRun, isUnusedIncluded: false };
  const { freedBytes: _, ...result } = await remove(manifestFile, select, extent, record);
  return result;
}

/** A sample may be removed at any time. */
function assertNotOffered(releases: readonly Release[]): void {
  const offered = releases.filter(({ yanked, rollout, sample }) => !yanked && rollout > 0 && !sample);
  if (offered.length === 0) return;
  throw new AppError(
    "release_in_use",
    `Clients may be downloading ${offered.map(({ id }) => id).join(", ")}: yank it first and remove it later, or pass --force.`,
  );
}

/**
 * Removes what `planPrune` selects, and files that publishing stored but no release has. Leaves others alone. Those files may
 * be anybody's, so they stay if the filter is limited.
 */
export async function pruneReleases(
  manifestFile: string,
  filter: WithAccess<ReleasesFilter>,
  { isDryRun, ...limits }: Omit<CatalogPrune, "filter">,
  record?: ChangeRecord<PrunedCatalog>,
): Promise<PrunedCatalog> {
  const select = (releases: readonly Release[]) => planPrune(filterReleases(releases, filter), limits);
  return remove(manifestFile, select, { isDryRun, isUnusedIncluded: filter.access === undefined }, record);
}

/** `isUnusedIncluded`: also files that no release has. */
type Extent = { isDryRun: boolean; isUnusedIncluded: boolean };

async function remove(
  manifestFile: string,
  select: (releases: readonly Release[]) => Release[],
  extent: Extent,
  record?: ChangeRecord<PrunedCatalog>,
): Promise<PrunedCatalog> {
  const split = (releases: readonly Release[]) => {
    const removed = select(releases);
    return { removed, remaining: releases.filter((release) => !removed.includes(release)) };
  };
  if (extent.isDryRun) {
    const { removed, remaining } = split((await readManifest(manifestFile)).releases);
    return removeFiles(manifestFile, removed, remaining, extent);
  }
  const change = ({ entries, releases }: EditableManifest) => {
    const { removed, remaining } = split(releases);
    const result: PrunedCatalog = { releases: removed.map(({ id }) => id), files: [], freedBytes: 0, elsewhere: [] };
    const kept = entries.filter((_, i) => remaining.includes(releases[i] as Release));
    const afterWrite = async () => {
      Object.assign(result, await removeFiles(manifestFile, removed, remaining, extent));
      if (extent.isUnusedIncluded) await removeStaleParts(path.dirname(manifestFile));
    };
    return { entries: removed.length > 0 ? kept : entries, result, afterWrite };
  };
  return changeManifest(manifestFile, change, record);
}

/** Deletes files of `removed` that no `remaining` release has, with the manifest's lock; `prune` retries what fails. */
export async function removeFiles(
  manifestFile: string,
  removed: readonly Release[],
  remaining: readonly Release[],
  { isDryRun, isUnusedIncluded }: Extent,
): Promise<PrunedCatalog> {
  const folder = await realpath(path.dirname(manifestFile)).catch(() => null);
  const sizes = new Map<string, number>();
  if (folder !== null) {
    const unused = isUnusedIncluded ? await unusedFiles(folder, [...removed, ...remaining]) : [];
    for (const file of [...filesOfNone(removed, remaining), ...unused]) {
      const sizeBytes = await removeFile(folder, file, isDryRun);
      if (sizeBytes !== null) sizes.set(file, sizeBytes);
    }
  }
  return {
    releases: removed.map(({ id }) => id),
    files: [...sizes.keys()],
    freedBytes: [...sizes.values()].reduce((sum, sizeBytes) => sum + sizeBytes, 0),
    elsewhere: remoteFilesOf(removed, remaining),
  };
}

/** The files in the catalog's folder that no release has any more, and the samples' key with the last sample. */
function filesOfNone(removed: readonly Release[], remaining: readonly Release[]): string[] {
  const used = new Set(remaining.flatMap(filesOf));
  const hadSamples = removed.some(({ sample }) => sample) && !remaining.some(({ sample }) => sample);
  const files = [...removed.flatMap(filesOf), ...(hadSamples ? [SAMPLE_KEY_FILE] : [])];
  return files.filter((file) => !used.has(file));
}

/** The files in content folders that no release has, relative to the catalog's folder. */
async function unusedFiles(folder: string, releases: readonly Release[]): Promise<string[]> {
  const used = new Set(releases.flatMap(filesOf));
  const files: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || !CONTENT_FOLDER.test(entry.name)) continue;
    for (const inside of await readdir(path.join(folder, entry.name), { withFileTypes: true })) {
      const file = `${entry.name}/${inside.name}`;
      if (inside.isFile() && !used.has(file)) files.push(file);
    }
  }
  return files;
}

/** Deletes a file of the catalog's folder, and its own folder if that is empty then. Returns its size; null without one. */
async function removeFile(folder: string, file: string, isDryRun: boolean): Promise<number | null> {
  try {
    const found = await resolveArtifactPath(folder, file);
    const { size } = await stat(found);
    if (isDryRun) return size;
    await rm(found);
    if (path.dirname(found) !== folder) await rmdir(path.dirname(found)).catch(() => {}); // another file may be in it
    return size;
  } catch {
    return null;
  }
}

/** The paths of a release's files in the catalog's folder: the same for a file, however the manifest writes it. */
function filesOf(release: Release): string[] {
  return storedFiles(release).flatMap(({ file }) => (file === undefined ? [] : path.posix.normalize(file)));
}

/** Where removed releases had files that are not in the catalog's folder, and that no `remaining` release has. */
function remoteFilesOf(removed: readonly Release[], remaining: readonly Release[]): string[] {
  const locationsOf = (release: Release) => storedFiles(release).flatMap(({ url, s3Key }) => url ?? s3Key ?? []);
  const used = new Set(remaining.flatMap(locationsOf));
  return [...new Set(removed.flatMap(locationsOf))].filter((location) => !used.has(location));
}

/** Which releases may go: older than the newest `keep` versions of their channel, and published before a time. */
export type PruneLimits = Pick<CatalogPrune, "keep" | "publishedBefore">;

/**
 * The releases that can be removed without a change for any client: those beyond the limits, except
 * - the newest release that all clients receive, for each minimum system and required version, and all newer ones,
 * - all that are newer than a rollback, whose clients it is offered to,
 * - critical releases and the highest minimum supported version, which make updates mandatory.
 *
 * Sample releases can be removed as soon as there is another one. Without limits, only those. Pure.
 */
export function planPrune(releases: readonly Release[], limits: PruneLimits): Release[] {
  const real = releases.filter(({ sample }) => !sample);
  const samples = real.length > 0 ? releases.filter(({ sample }) => sample) : [];
  if (limits.keep === undefined && limits.publishedBefore === undefined) return samples;
  const streams = groupBy(real, ({ product, platform, architecture, channel }) =>
    [product, platform, architecture, channel].join("/"),
  );
  return [...samples, ...[...streams.values()].flatMap((stream) => planStream(stream, limits))];
}

function planStream(stream: readonly Release[], { keep = 0, publishedBefore }: PruneLimits): Release[] {
  const ordered = stream.toSorted((a, b) => compareBuild(b.version, a.version));
  const versions = [...new Set(ordered.map(({ version }) => formatVersion(version)))].slice(0, keep);
  const needed = neededReleases(ordered);
  return ordered.filter((release) => {
    const isOld = publishedBefore === undefined || release.releasedAt < publishedBefore;
    return isOld && !versions.includes(formatVersion(release.version)) && !needed.has(release);
  });
}

/** `ordered`: the newest first. */
function neededReleases(ordered: readonly Release[]): Set<Release> {
  const isForEveryone = ({ yanked, rollout }: Release) => !yanked && rollout === 100;
  const requirementsOf = ({ minimumSystemVersion, requiresFrom }: Release) =>
    `${minimumSystemVersion} ${requiresFrom && formatVersion(requiresFrom)}`;
  const offered = groupBy(ordered.filter(isForEveryone), requirementsOf);
  const lastNeeded = Math.max(
    ordered.findIndex(isForEveryone),
    ordered.findLastIndex(({ rollback, yanked }) => rollback && !yanked),
  );
  const newer = lastNeeded === -1 ? ordered : ordered.slice(0, lastNeeded + 1);
  const minimums = ordered.flatMap((release) => {
    const { minimumSupportedVersion: minimum } = release;
    return minimum ? [{ release, minimum }] : [];
  });
  const [highest] = minimums.sort((a, b) => compareBuild(b.minimum, a.minimum));
  return new Set([
    ...newer,
    ...[...offered.values()].flatMap((group) => group.slice(0, 1)),
    ...ordered.filter(({ critical, yanked }) => critical && !yanked),
    ...(highest ? [highest.release] : []),
  ]);
}
