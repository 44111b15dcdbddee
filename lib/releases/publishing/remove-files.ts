import { realpath, rm, rmdir, stat } from "node:fs/promises";
import path from "node:path";
import { resolveArtifactPath } from "../artifact-files";
import { storedFiles } from "../release-files";
import { SAMPLE_KEY_FILE } from "../sample/sample-catalog";
import type { Release } from "../schema";

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
