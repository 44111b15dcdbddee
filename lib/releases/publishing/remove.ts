import { AppError } from "../../errors";
import type { Release } from "../schema";
import { selectReleases } from "./filter-releases";
import { changeManifest, type EditableManifest, readManifest } from "./manifest/manifest-file";
import type { ChangeRecord } from "./manifest/recorded-write";
import { remoteFilesOf, removeUnusedFiles } from "./remove-files";
import type { ReleasesFilter } from "./schemas/maintenance";
import type { RemovalResult } from "./schemas/releases";

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
