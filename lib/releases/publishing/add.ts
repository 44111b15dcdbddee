import { stat } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { makeFolder, writeDurably } from "../../platform/files/durable";
import { type ReleaseReader, requireKeyAccess } from "../access";
import { verifySignedDocuments } from "../catalog/signed-documents";
import { unsignedVersionNotes } from "../formats/tauri";
import type { Publication } from "../policy/admissions";
import { keysOf } from "../policy/terms";
import { ATTESTATION_TYPE, BLOCK_MAP_TYPE, releaseFiles } from "../release-files";
import { type BesideFile, formatVersion, type PublishedBy, type Release } from "../schema";
import { publicKeysOf } from "../signatures";
import type { Attestations } from "./attestations/attest-draft";
import { describeChange } from "./describe-change";
import { type ArtifactEntry, type HashedDraft, type HashedFile, hashDraft, type ReleaseDraft } from "./draft";
import { copyToFolder, digestFile, linkToFolder, type OnProgress, readChunks } from "./files/build-file";
import { manifestNotes, type SignedFile, verifySignatures } from "./files/verify-signatures";
import { invalidRelease, refuse } from "./invalid-release";
import {
  changeManifest,
  describeDiskError,
  type EditableManifest,
  limitGrowth,
  readManifest,
  serializeManifest,
} from "./manifest-file";
import { type AddedRelease, type Plan, planAdditions } from "./plan-addition";
import type { ChangeRecord } from "./recorded-write";
import { removeFiles } from "./remove";

/**
 * What publishing depends on. `now` is the default release date, and `publishedBy` who publishes, whatever a draft says; `reader`
 * is the caller, and `record` goes with the one write of the manifest.
 */
export type PublishDeps = {
  manifestFile: string;
  storage: Context["storage"];
  now: () => Date;
  publishedBy?: PublishedBy;
  reader?: ReleaseReader;
  onProgress?: OnProgress | undefined;
  record?: ChangeRecord<Published>;
  /** Needed for files with an attestation. */
  attestations?: Attestations;
};

type Published = { releases: AddedRelease[]; removedSamples: readonly Release[]; publications: Publication[] };

/** The releases in the order of the drafts. `notes` say what was not verified, and which clients will refuse a release. */
export type AddResult = Omit<Published, "publications"> & { notes: string[] };

/**
 * Hashes files, verifies their signatures and attestations, stores them and adds the releases to the manifest in one write, in this
 * order, so that the manifest never names a missing file. Rejects invalid input before it writes anything.
 */
export async function addReleases(deps: PublishDeps, drafts: readonly ReleaseDraft[]): Promise<AddResult> {
  const { manifestFile, now, onProgress, publishedBy, reader = {} } = deps;
  const hashed: HashedDraft[] = [];
  const notes: string[] = [];
  for (const draft of drafts) {
    const release = { ...draft.release, publishedBy };
    const attested = await attest(await hashDraft({ ...draft, release }, onProgress), deps);
    hashed.push(attested.draft);
    notes.push(...attested.notes);
  }
  const publishedAt = now();
  const plan = limitGrowth(reader, (manifest) => {
    const planned = planAdditions(manifest, hashed, publishedAt);
    requireKeyAccess(reader.releaseAccess, manifest, planned.publicKeys);
    return planned;
  });
  const current = await readManifest(manifestFile);
  const planned = plan(current);
  await serializeManifest(planned);
  notes.push(...(await verifyDrafts(hashed, planned)));
  const publications = planned.added.map(({ release }, i) => toPublication(release, hashed[i], planned, current));
  const { publications: _, ...published } = await storeAndPublish(deps, hashed, plan, publications);
  notes.push(...describeChange(current.releases, planned.releases, undefined));
  return { ...published, notes: [...new Set(notes)] };
}

/** Loads the packages that verify attestations only for a draft that has one. */
async function attest(draft: HashedDraft, { attestations }: PublishDeps) {
  if (draft.files.every(({ attestationFile }) => attestationFile === undefined)) return { draft, notes: [] };
  if (!attestations) throw new Error("Nothing verifies the attestations");
  const { attestDraft } = await import("./attestations/attest-draft");
  return attestDraft(draft, attestations);
}

/** Returns a sentence for each signature that was not verified, or that some clients will refuse. @throws AppError */
async function verifyDrafts(drafts: readonly HashedDraft[], { added, publicKeys }: Plan): Promise<string[]> {
  const notes = new Set<string>();
  for (const [i, { files }] of drafts.entries()) {
    const release = added[i]?.release;
    if (!release) continue;
    const keys = publicKeysOf(publicKeys, release.product);
    for (const { problem } of verifySignedDocuments(release, keys)) refuse(problem, "signature_invalid");
    for (const note of manifestNotes(release, keys)) notes.add(note);
    for (const file of files) {
      for (const note of await verifySignatures(toSignedFile(file, release), keys)) notes.add(note);
    }
    for (const note of unsignedVersionNotes(release)) notes.add(note);
  }
  return [...notes];
}

/** One file with its signatures, even if it is published as two kinds. */
function toSignedFile({ file, artifact }: HashedFile, release: Release): SignedFile {
  const { fileName, sizeBytes } = artifact;
  const published = releaseFiles(release).find((one) => isSameFile(one, artifact));
  const { minisign, edSignature } = published ?? {};
  const { product, version } = release;
  const fileNames = [path.basename(file), fileName];
  return { file, fileNames, sizeBytes, product, version: formatVersion(version), minisign, edSignature };
}

/** An installer and an update may have one name. */
const isSameFile = (a: ArtifactEntry, b: ArtifactEntry) => a.fileName === b.fileName && a.sha256 === b.sha256;

async function storeAndPublish(
  { manifestFile, storage, onProgress, record }: PublishDeps,
  drafts: readonly HashedDraft[],
  plan: (manifest: EditableManifest) => Plan,
  publications: readonly Publication[],
): Promise<Published> {
  const folder = path.dirname(manifestFile);
  const staged: StagedFile[] = [];
  try {
    for (const file of drafts.flatMap(({ files }) => files)) {
      staged.push(await stageFile({ folder, storage, onProgress }, file));
      for (const beside of filesBeside(file)) staged.push(await stageBeside({ folder, storage }, beside));
    }
    const change = (current: EditableManifest) => {
      const { entries, publicKeys, added, releases, removedSamples } = plan(current);
      return {
        entries,
        publicKeys,
        result: {
          releases: added.map(({ id, outcome }) => ({ id, outcome })),
          removedSamples,
          publications: added.flatMap(({ release }, i) => {
            const verified = publications[i];
            return verified ? [{ ...verified, release }] : [];
          }),
        },
        beforeWrite: async () => {
          for (const { commit } of staged) await commit?.();
        },
        afterWrite: () =>
          removeFiles(manifestFile, removedSamples, releases, { isDryRun: false, isUnusedIncluded: false }),
      };
    };
    return await changeManifest(manifestFile, change, record);
  } catch (error) {
    throw describeDiskError(error, folder);
  } finally {
    for (const { discard } of staged) await discard?.();
  }
}

/** The files of a draft with what was verified of them: the signatures of the planned release, and their own attestations. */
function toPublication(
  release: Release,
  draft: HashedDraft | undefined,
  planned: Pick<Plan, "publicKeys">,
  current: Pick<Plan, "publicKeys">,
): Publication {
  const files = releaseFiles(release).flatMap((file) => {
    const own = draft?.files.find(({ artifact }) => isSameFile(artifact, file));
    return own ? [{ ...file, attestation: own.artifact.attestation }] : [];
  });
  const publicKeys = publicKeysOf(planned.publicKeys, release.product);
  const known = keysOf(publicKeysOf(current.publicKeys, release.product));
  return { release, files, publicKeys, newKeys: keysOf(publicKeys).filter((key) => !known.includes(key)) };
}

/** A file that is ready to serve once `commit` has given it its name. `discard` deletes what is not committed. */
type StagedFile = { commit?: () => Promise<void>; discard?: () => Promise<void> };

type Deps = { folder: string; storage: Context["storage"]; onProgress?: OnProgress | undefined };

/** Copies a file into the catalog's folder under a temporary name, or uploads it. @throws AppError */
async function stageFile(deps: Deps, hashed: HashedFile): Promise<StagedFile> {
  const { file, artifact, destination } = hashed;
  if (destination.kind === "url") return {};
  if (destination.kind === "folder") return stageCopy(deps, hashed);
  if (!deps.storage) throw invalidRelease("The object storage is not configured: set the RELEASE_S3_ variables.");
  const { s3Key: key = "", sizeBytes, sha256, contentType = "application/octet-stream" } = artifact;
  const bytes = readChunks(file, (doneBytes) => deps.onProgress?.("Uploading", doneBytes, sizeBytes));
  await deps.storage.put({ key, sizeBytes, sha256, contentType, bytes }).catch(notStored);
  return {};
}

/** @throws AppError artifact_unavailable */
function notStored(cause: Error): never {
  const detail = `The object storage did not take a file, so nothing was published: ${cause.message}`;
  throw new AppError("artifact_unavailable", { detail, cause });
}

type NewBesideFile = { entry: BesideFile; bytes: Uint8Array; contentType: string };

/** The block map and the attestation of a file. */
function filesBeside({ artifact, blockMap, attestation }: HashedFile): NewBesideFile[] {
  const files: NewBesideFile[] = [];
  if (artifact.blockMap && blockMap) {
    files.push({ entry: artifact.blockMap, bytes: blockMap.bytes, contentType: BLOCK_MAP_TYPE });
  }
  if (artifact.attestation && attestation) {
    files.push({ entry: artifact.attestation, bytes: attestation, contentType: ATTESTATION_TYPE });
  }
  return files;
}

async function stageBeside(
  { folder, storage }: Deps,
  { entry, bytes, contentType }: NewBesideFile,
): Promise<StagedFile> {
  const { file, s3Key, url, sizeBytes, sha256 } = entry;
  if (url !== undefined) return {};
  if (s3Key !== undefined) {
    await storage?.put({ key: s3Key, sizeBytes, sha256, contentType, bytes: Readable.from([bytes]) }).catch(notStored);
    return {};
  }
  const target = path.join(/* turbopackIgnore: true */ folder, file ?? "");
  const commit = async () => {
    await makeFolder(path.dirname(target));
    await writeDurably(target, bytes);
  };
  return { commit };
}

async function stageCopy(
  { folder, onProgress }: Deps,
  { file, isTemporary, artifact }: HashedFile,
): Promise<StagedFile> {
  const target = path.join(folder, artifact.file ?? "");
  // Copied by an interrupted run, unless it is deleted before this one has the lock.
  if (await hasSameBytes(target, artifact, onProgress)) return { commit: () => assertPresent(target) };
  const linked = isTemporary ? await linkToFolder(file, folder) : null;
  if (linked) return { commit: () => linked.moveTo(target), discard: linked.discard };
  const copy = await copyToFolder(file, folder, onProgress);
  if (copy.sha256 !== artifact.sha256) {
    await copy.discard();
    throw new AppError("file_changed", `${file} changed while it was copied. Nothing was published.`);
  }
  return { commit: () => copy.moveTo(target), discard: copy.discard };
}

async function assertPresent(file: string): Promise<void> {
  if (await stat(file).catch(() => null)) return;
  throw new AppError("file_changed", `${file} was deleted by another process. Nothing was published: try again.`);
}

/** Compares the bytes, since publishing again repairs a damaged file. */
async function hasSameBytes(file: string, { sizeBytes, sha256 }: ArtifactEntry, onProgress?: OnProgress) {
  const stats = await stat(file).catch(() => null);
  if (!stats?.isFile() || stats.size !== sizeBytes) return false;
  return (await digestFile(file, onProgress)).sha256 === sha256;
}
