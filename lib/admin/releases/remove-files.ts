import { realpath, rm, rmdir } from "node:fs/promises";
import path from "node:path";
import { resolveArtifactPath } from "../../releases/artifact-files";
import { storedFiles } from "../../releases/release-files";
import { SAMPLE_KEY_FILE } from "../../releases/sample/sample-catalog";
import type { Release } from "../../releases/schema";

/**
 * Deletes the files of removed releases that no `remaining` release has. Call it with the manifest's lock. Ignores files
 * that cannot be deleted: `prune` tries again.
 */
export async function removeUnusedFiles(
  manifestFile: string,
  removed: readonly Release[],
  remaining: readonly Release[],
): Promise<void> {
  if (removed.length === 0) return;
  const folder = path.dirname(await realpath(manifestFile));
  const used = new Set(remaining.flatMap(filesOf));
  const samples = removed.some(({ sample }) => sample) ? [SAMPLE_KEY_FILE] : [];
  for (const file of new Set([...removed.flatMap(filesOf), ...samples])) {
    if (used.has(file)) continue;
    await resolveArtifactPath(folder, file)
      .then((found) => removeFile(folder, found))
      .catch(() => {});
  }
}

async function removeFile(folder: string, file: string): Promise<void> {
  await rm(file);
  if (path.dirname(file) !== folder) await rmdir(path.dirname(file)).catch(() => {}); // another file may be in it
}

/** The files of a release in the catalog's folder, as the manifest has them. */
function filesOf(release: Release): string[] {
  return storedFiles(release).flatMap(({ file }) => file ?? []);
}
