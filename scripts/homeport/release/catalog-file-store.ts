import type { Context } from "../../../lib/context";
import { createObjectStorage } from "../../../lib/platform/adapters/s3";
import { loadConfig } from "../../../lib/platform/config";
import { addReleases } from "../../../lib/releases/publishing/add";
import { describeChange } from "../../../lib/releases/publishing/describe-change";
import { filterReleases } from "../../../lib/releases/publishing/filter-releases";
import { listReleases } from "../../../lib/releases/publishing/list";
import { changeManifest, type EditableManifest, readManifest } from "../../../lib/releases/publishing/manifest-file";
import { findNewerServedReleases, planPromotion, planUpdate } from "../../../lib/releases/publishing/plan-changes";
import { pruneReleases, removeReleases } from "../../../lib/releases/publishing/remove";
import { verifyReleases } from "../../../lib/releases/publishing/verify";
import { drawProgress } from "../terminal";
import type { ReleaseStore } from "./release-store";

/** The catalog that `--catalog` names, with the settings of this folder's service. */
export function openCatalogFile(manifestFile: string): ReleaseStore {
  const config = loadConfig();
  return catalogFileStore(
    manifestFile,
    createObjectStorage(config, () => new Date()),
    config.SIGSTORE_TRUSTED_ROOT,
  );
}

/** The catalog that `--catalog` names. Its changes are in no audit trail. */
export function catalogFileStore(
  manifestFile: string,
  storage: Context["storage"],
  trustedRoots?: Context["config"]["SIGSTORE_TRUSTED_ROOT"],
): ReleaseStore {
  const now = () => new Date();
  return {
    list: async (filter) => listReleases(filterReleases((await readManifest(manifestFile)).releases, filter)),
    add: async (drafts) => {
      const deps = { manifestFile, storage, now, onProgress: drawProgress, attestations: { trustedRoots } };
      const added = await addReleases(deps, drafts);
      return { ...added, removedSamples: added.removedSamples.map(({ id }) => id) };
    },
    update: async (filter, change) => {
      const before = (await readManifest(manifestFile)).releases;
      const releases = await changeManifest(manifestFile, (manifest) => planUpdate(manifest, filter, change));
      const after = (await readManifest(manifestFile)).releases;
      const ids = releases.map(({ id }) => id);
      return {
        releases,
        newerServed: findNewerServedReleases(after, ids),
        notes: describeChange(before, after, undefined),
      };
    },
    promote: async (filter, promotion) => {
      const releasedAt = now().toISOString();
      const promote = (manifest: EditableManifest) => planPromotion(manifest, filter, promotion, releasedAt);
      return { releases: await changeManifest(manifestFile, promote) };
    },
    remove: async (filter, options) => ({ result: await removeReleases(manifestFile, filter, options) }),
    prune: async (filter, options) => ({ result: await pruneReleases(manifestFile, filter, options) }),
    verify: async function* (filter, { shouldVerifyRemote }) {
      const matching = filterReleases((await readManifest(manifestFile)).releases, filter);
      yield* verifyReleases(manifestFile, matching, { shouldVerifyRemote, storage, trustedRoots }, drawProgress);
    },
  };
}
