import { realpath, rm, rmdir, stat } from "node:fs/promises";
import path from "node:path";
import { AppError } from "../../errors";
import { resolveArtifactPath } from "../artifact-files";
import { storedFiles } from "../release-files";
import { SAMPLE_KEY_FILE } from "../sample/sample-catalog";
import type { Release } from "../schema";
import { selectReleases } from "./filter-releases";
import { changeManifest, type EditableManifest, readManifest } from "./manifest-file";
import type { ChangeRecord } from "./recorded-write";
import type { ReleasesFilter, RemovalResult } from "./schema";

/** `isForced`: also remove releases that are offered to clients. `isDryRun`: change nothing. */
export type RemoveOptions = { isForced: boolean; isDryRun: boolean };

/**
 * Removes releases from the catalog in one write, and the files that no other release has. A download that has started
 * continues, because its file is open; an interrupted one cannot be resumed.
 * @throws AppError release_in_use if a release is offered to clients; release_not_found
 */
export async function removeReleases(
  manifestFile: string,
  filter: ReleasesFilter,
  { isForced, isDryRun }: RemoveOptions,
  record?: ChangeRecord<RemovalResult>,
): Promise<RemovalResult> {
  const select = (releases: readonly Release[]) => {
    const removed = selectReleases(releases, filter);
    if (!isForced) assertNotOffered(removed);
    return { removed, remaining: releases.filter((release) => !removed.includes(release)) };
  };
  if (isDryRun) {
    const { removed, remaining } = select((await readManifest(manifestFile)).releases);
    return resultOf(removed, remaining, await removeUnusedFiles(manifestFile, removed, remaining, true));
  }
  const change = ({ entries, releases }: EditableManifest) => {
    const { removed, remaining } = select(releases);
    const result = resultOf(removed, remaining, []);
    return {
      entries: entries.filter((_, i) => remaining.includes(releases[i] as Release)),
      result,
      afterWrite: async () => result.files.push(...(await removeUnusedFiles(manifestFile, removed, remaining))),
    };
  };
  return changeManifest(manifestFile, change, record);
}

function resultOf(removed: readonly Release[], remaining: readonly Release[], files: string[]): RemovalResult {
  return { releases: removed.map(({ id }) => id), files, elsewhere: remoteFilesOf(removed, remaining) };
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
 * Deletes the files of removed releases that no `remaining` release has. Call it with the manifest's lock. Skips files
 * that cannot be deleted: `prune` tries again. Returns the deleted files, relative to the catalog's folder.
 */
export async function removeUnusedFiles(
  manifestFile: string,
  removed: readonly Release[],
  remaining: readonly Release[],
  isDryRun = false,
): Promise<string[]> {
  if (removed.length === 0) return [];
  const folder = await realpath(path.dirname(manifestFile));
  const used = new Set(remaining.flatMap(filesOf));
  const samples = removed.some(({ sample }) => sample) && !remaining.some(({ sample }) => sample);
  const deleted: string[] = [];
  for (const file of new Set([...removed.flatMap(filesOf), ...(samples ? [SAMPLE_KEY_FILE] : [])])) {
    if (!used.has(file) && (await removeFile(folder, file, isDryRun))) deleted.push(file);
  }
  return deleted;
}

/** Deletes a file of the catalog's folder, and its own folder if that is empty then. Returns whether it existed. */
export async function removeFile(folder: string, file: string, isDryRun: boolean): Promise<boolean> {
  try {
    const found = await resolveArtifactPath(folder, file);
    if (isDryRun) return (await stat(found)).isFile();
    await rm(found);
    if (path.dirname(found) !== folder) await rmdir(path.dirname(found)).catch(() => {}); // another file may be in it
    return true;
  } catch {
    return false;
  }
}

/** The paths of a release's files in the catalog's folder: the same for a file, however the manifest writes it. */
export function filesOf(release: Release): string[] {
  return storedFiles(release).flatMap(({ file }) => (file === undefined ? [] : path.posix.normalize(file)));
}

/** Where removed releases had files that are not in the catalog's folder, and that no `remaining` release has. */
export function remoteFilesOf(removed: readonly Release[], remaining: readonly Release[]): string[] {
  const locationsOf = (release: Release) => storedFiles(release).flatMap(({ url, s3Key }) => url ?? s3Key ?? []);
  const used = new Set(remaining.flatMap(locationsOf));
  return [...new Set(removed.flatMap(locationsOf))].filter((location) => !used.has(location));
}
