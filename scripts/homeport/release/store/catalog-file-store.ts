import { addReleases } from "../../../../lib/admin/releases/add";
import { filterReleases } from "../../../../lib/admin/releases/filter-releases";
import { listReleases } from "../../../../lib/admin/releases/list";
import { readManifest } from "../../../../lib/admin/releases/manifest/manifest-file";
import { promoteReleases } from "../../../../lib/admin/releases/promote";
import { pruneReleases } from "../../../../lib/admin/releases/prune";
import { removeReleases } from "../../../../lib/admin/releases/remove";
import { findNewerServedReleases, updateReleases } from "../../../../lib/admin/releases/update";
import { verifyReleases } from "../../../../lib/admin/releases/verify";
import type { Context } from "../../../../lib/context";
import { drawProgress } from "../../output/progress";
import type { ReleaseStore } from "./release-store";

/** The catalog that `--catalog` names. Its changes are in no audit trail. */
export function catalogFileStore(manifestFile: string, storage: Context["storage"]): ReleaseStore {
  const now = () => new Date();
  return {
    list: async (filter) => listReleases(filterReleases((await readManifest(manifestFile)).releases, filter)),
    add: async (drafts) => {
      const added = await addReleases({ manifestFile, storage, now, onProgress: drawProgress }, drafts);
      return { ...added, removedSamples: added.removedSamples.map(({ id }) => id) };
    },
    update: async (filter, change) => {
      const releases = await updateReleases(manifestFile, filter, change);
      const ids = releases.map(({ id }) => id);
      return { releases, newerServed: findNewerServedReleases((await readManifest(manifestFile)).releases, ids) };
    },
    promote: async (filter, promotion) => ({
      releases: await promoteReleases({ manifestFile, now }, filter, promotion),
    }),
    remove: async (filter, options) => ({ result: await removeReleases(manifestFile, filter, options) }),
    prune: async (filter, options) => ({ result: await pruneReleases(manifestFile, filter, options) }),
    verify: async function* (filter, { shouldVerifyRemote }) {
      const matching = filterReleases((await readManifest(manifestFile)).releases, filter);
      yield* verifyReleases(manifestFile, matching, { shouldVerifyRemote, storage }, drawProgress);
    },
  };
}
