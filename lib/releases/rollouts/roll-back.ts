import { AppError } from "../../errors";
import { selectReleases } from "../publishing/filter-releases";
import { changeManifest, type EditableManifest } from "../publishing/manifest/manifest-file";
import type { ChangeRecord } from "../publishing/manifest/recorded-write";
import type { ReleasesFilter } from "../publishing/schemas/maintenance";
import { findNewerServedReleases, type ManifestPlan, planUpdate, type UpdatedRelease } from "../publishing/update";

/** How the newer releases are withdrawn: yanked for good, or paused, so that they can be rolled out again. */
export type Withdrawal = "yank" | "pause";

/** `releases` are the ones that are rolled back to, `withdrawn` the ids of the newer ones. */
export type RollbackResult = { releases: UpdatedRelease[]; withdrawn: string[] };

/**
 * Rolls back to older releases in one write: marks those that the filter selects as rollbacks that everybody gets, and withdraws
 * the newer ones of their channel that the same computers get.
 * @throws AppError if the filter matches none, or a yanked release
 */
export async function rollBackReleases(
  manifestFile: string,
  filter: ReleasesFilter,
  withdrawal: Withdrawal,
  record?: ChangeRecord<RollbackResult>,
): Promise<RollbackResult> {
  return changeManifest(manifestFile, (manifest) => planRollback(manifest, filter, withdrawal), record);
}

/** Changes the releases of a manifest for a rollback. Writes nothing. @throws AppError */
export function planRollback(
  { entries, releases }: EditableManifest,
  filter: ReleasesFilter,
  withdrawal: Withdrawal,
): ManifestPlan<RollbackResult> {
  const targets = selectReleases(releases, filter);
  const yanked = targets.find((release) => release.yanked);
  if (yanked) throw new AppError("release_yanked", `${yanked.id} is yanked, so nobody can roll back to it.`);
  const ids = targets.map(({ id }) => id);
  const withdrawn = findNewerServedReleases(releases, ids).filter((id) => !ids.includes(id));
  const marked = planUpdate({ entries, releases }, { ids }, { rollback: true, rollout: 100 });
  if (withdrawn.length === 0) return { ...marked, result: { releases: marked.result, withdrawn } };
  const change = withdrawal === "yank" ? { yanked: true } : { rollout: 0 };
  return { ...planUpdate(marked, { ids: withdrawn }, change), result: { releases: marked.result, withdrawn } };
}
