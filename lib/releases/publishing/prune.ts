import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { Release } from "../schema";
import { removeStaleParts } from "./files/build-file";
import { filterReleases } from "./filter-releases";
import { changeManifest, type EditableManifest, readManifest } from "./manifest-file";
import { type PruneLimits, planPrune } from "./prune-plan";
import type { ChangeRecord } from "./recorded-write";
import { filesOf, remoteFilesOf, removeFile, removeUnusedFiles } from "./remove";
import type { PrunedCatalog, ReleasesFilter } from "./schema";

/** `isDryRun`: change nothing. */
export type PruneOptions = PruneLimits & { isDryRun: boolean };

/** The folders that publishing creates: the first 16 digits of the file's SHA-256. */
const CONTENT_FOLDER = /^[0-9a-f]{16}$/;

/**
 * Removes old releases with their files as `planPrune` says, and the files that publishing stored but no release has:
 * those of an interrupted publication, or of releases that are not in the manifest any more. Other files are left alone.
 * @throws AppError
 */
export async function pruneReleases(
  manifestFile: string,
  filter: ReleasesFilter,
  { isDryRun, ...limits }: PruneOptions,
  record?: ChangeRecord<PrunedCatalog>,
): Promise<PrunedCatalog> {
  const plan = (releases: readonly Release[]) => {
    const removed = planPrune(filterReleases(releases, filter), limits);
    return { removed, remaining: releases.filter((release) => !removed.includes(release)) };
  };
  if (isDryRun) {
    const { removed, remaining } = plan((await readManifest(manifestFile)).releases);
    return removeAll(manifestFile, removed, remaining, true);
  }
  const change = ({ entries, releases }: EditableManifest) => {
    const { removed, remaining } = plan(releases);
    const result: PrunedCatalog = { releases: removed.map(({ id }) => id), files: [], freedBytes: 0, elsewhere: [] };
    const kept = entries.filter((_, i) => remaining.includes(releases[i] as Release));
    const afterWrite = async () => {
      Object.assign(result, await removeAll(manifestFile, removed, remaining, false));
      await removeStaleParts(path.dirname(manifestFile));
    };
    return { entries: removed.length > 0 ? kept : entries, result, afterWrite };
  };
  return changeManifest(manifestFile, change, record);
}

async function removeAll(
  manifestFile: string,
  removed: readonly Release[],
  remaining: readonly Release[],
  isDryRun: boolean,
): Promise<PrunedCatalog> {
  const folder = await realpath(path.dirname(manifestFile)).catch(() => null);
  const elsewhere = remoteFilesOf(removed, remaining);
  const releases = removed.map(({ id }) => id);
  if (folder === null) return { releases, files: [], freedBytes: 0, elsewhere };
  const sizes = new Map<string, number>();
  const unused = [...removed.flatMap(filesOf), ...(await unusedFiles(folder, [...removed, ...remaining]))];
  for (const file of unused) sizes.set(file, (await stat(path.join(folder, file)).catch(() => null))?.size ?? 0);
  const files = await removeUnusedFiles(manifestFile, removed, remaining, isDryRun);
  for (const file of await unusedFiles(folder, [...removed, ...remaining])) {
    if (await removeFile(folder, file, isDryRun)) files.push(file);
  }
  return { releases, files, freedBytes: files.reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0), elsewhere };
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
