import path from "node:path";
import type { Context } from "../../context";
import { releaseFiles } from "../release-files";
import { formatVersion, type Release } from "../schema";
import { type HashedDraft, type HashedFile, hashDraft, type ReleaseDraft } from "./draft";
import type { OnProgress } from "./files/build-file";
import { type StagedFile, stageBlockMap, stageFile } from "./files/stage-file";
import { type SignedFile, verifySignatures } from "./files/verify-signatures";
import {
  changeManifest,
  describeDiskError,
  type EditableManifest,
  readManifest,
  serializeManifest,
} from "./manifest-file";
import { type AddedRelease, type Plan, planAdditions, publicKeysOf } from "./plan-addition";
import type { ChangeRecord } from "./recorded-write";
import { removeUnusedFiles } from "./remove";

/** What publishing depends on. `now` is the default release date; `record` goes with the one write of the manifest. */
export type PublishDeps = {
  manifestFile: string;
  storage: Context["storage"];
  now: () => Date;
  onProgress?: OnProgress | undefined;
  record?: ChangeRecord<Published>;
};

type Published = { releases: AddedRelease[]; removedSamples: readonly Release[] };

/** The releases in the order of the drafts. `notes` describe the signatures that could not be verified. */
export type AddResult = Published & { notes: string[] };

/**
 * Publishes releases with all their files: hashes the files, verifies their signatures, stores them and adds them to the
 * manifest in one write, in this order. So the releases become visible at once, and the manifest never names a missing
 * file. Rejects invalid input before it writes anything. Removes the sample releases.
 * @throws AppError; errors of the storage or the file system
 */
export async function addReleases(deps: PublishDeps, drafts: readonly ReleaseDraft[]): Promise<AddResult> {
  const { manifestFile, now, onProgress } = deps;
  const hashed: HashedDraft[] = [];
  for (const draft of drafts) hashed.push(await hashDraft(draft, onProgress));
  const publishedAt = now();
  const plan = (manifest: EditableManifest) => planAdditions(manifest, hashed, publishedAt);
  const planned = plan(await readManifest(manifestFile));
  await serializeManifest(planned);
  const notes = await verifyDrafts(hashed, planned);
  const published = await storeAndPublish(deps, hashed, plan);
  return { ...published, notes };
}

/** Returns a sentence for each signature that could not be verified. */
async function verifyDrafts(drafts: readonly HashedDraft[], { added, publicKeys }: Plan): Promise<string[]> {
  const notes = new Set<string>();
  for (const [i, { files }] of drafts.entries()) {
    const release = added[i]?.release;
    if (!release) continue;
    for (const file of files) {
      const signed = toSignedFile(file, release);
      for (const note of await verifySignatures(signed, publicKeysOf(publicKeys, release.product))) notes.add(note);
    }
  }
  return [...notes];
}

/** One file with its signatures, even if it is published as two kinds. */
function toSignedFile({ file, artifact: { fileName, sizeBytes } }: HashedFile, release: Release): SignedFile {
  const published = releaseFiles(release).find((artifact) => artifact.fileName === fileName);
  const { minisign, edSignature } = published ?? {};
  const { product, version } = release;
  const fileNames = [path.basename(file), fileName];
  return { file, fileNames, sizeBytes, product, version: formatVersion(version), minisign, edSignature };
}

async function storeAndPublish(
  { manifestFile, storage, onProgress, record }: PublishDeps,
  drafts: readonly HashedDraft[],
  plan: (manifest: EditableManifest) => Plan,
): Promise<Published> {
  const folder = path.dirname(manifestFile);
  const staged: StagedFile[] = [];
  try {
    for (const file of drafts.flatMap(({ files }) => files)) {
      staged.push(await stageFile({ folder, storage, onProgress }, file));
      staged.push(await stageBlockMap({ folder, storage }, file));
    }
    const change = (current: EditableManifest) => {
      const { entries, publicKeys, added, releases, removedSamples } = plan(current);
      return {
        entries,
        publicKeys,
        result: { releases: added.map(({ id, outcome }) => ({ id, outcome })), removedSamples },
        beforeWrite: () => commitAll(staged),
        afterWrite: () => removeUnusedFiles(manifestFile, removedSamples, releases),
      };
    };
    return await changeManifest(manifestFile, change, record);
  } catch (error) {
    throw describeDiskError(error, folder);
  } finally {
    for (const { discard } of staged) await discard();
  }
}

async function commitAll(staged: readonly StagedFile[]): Promise<void> {
  for (const { commit } of staged) await commit();
}
