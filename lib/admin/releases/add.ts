import { realpath, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Context } from "../../context";
import { resolveArtifactPath } from "../../releases/artifact-files";
import { SAMPLE_KEY_FILE } from "../../releases/sample/sample-catalog";
import { ArtifactKind, formatVersion, type Release } from "../../releases/schema";
import { parsePlatform } from "../../releases/selection/release-selector";
import { copyToFolder, type Digest, digestFile, type OnProgress, readChunks } from "./build-file";
import {
  changeManifest,
  type EditableManifest,
  PublishingError,
  readManifest,
  serializeManifest,
} from "./manifest-file";
import { type Addition, type AddResult, type ArtifactEntry, planAddition } from "./plan-addition";
import { mergePublicKeys, type PublicKeyInput, publicKeysOf } from "./public-keys";
import { type SignedFile, verifySignatures } from "./verify-signatures";

/** Where a file is served from: the catalog's folder, the object storage, or an address that has it already. */
export type Destination =
  | { to: "folder" }
  | { to: "storage"; storage: NonNullable<Context["storage"]> }
  | { to: "url"; url: string };

/** A file to be published, and what is said of it. `fileName` is its own unless another is given. */
export type Publication = Omit<Addition, "artifact"> & {
  file: string;
  artifact: Partial<Pick<ArtifactEntry, "fileName" | "contentType" | "minisign" | "edSignature">>;
  destination: Destination;
  /** The product's public keys; the catalog keeps them for the next release. */
  publicKeys?: PublicKeyInput;
};

/** A file on its way: `settle` gives it its name, `discard` takes back what can be taken back. */
type StagedFile = { commit: () => Promise<void>; discard: () => Promise<void> };

const NOTHING: StagedFile = { commit: async () => {}, discard: async () => {} };
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".dmg": "application/x-apple-diskimage",
  ".exe": "application/x-msdownload",
  ".gz": "application/gzip",
  ".msi": "application/x-msi",
  ".zip": "application/zip",
};

/**
 * Publishes a file, as of `now` unless something else is said: digests it, verifies its signatures, brings it to its
 * place and adds it to the manifest, in this order, so that the manifest never names what is not there. What is
 * refused is refused before anything is written. `notes` are sentences on what could not be verified.
 * @throws PublishingError, UnconfirmedError; Error of the storage or the file system.
 */
export async function addRelease(
  manifestFile: string,
  given: Publication,
  now: Date,
  onProgress?: OnProgress,
): Promise<AddResult & { notes: string[] }> {
  const addition = additionOf(given, await digestFile(given.file, onProgress));
  const plan = (manifest: EditableManifest) => {
    const planned = planAddition(manifest, addition, now);
    const { product } = planned.release;
    return {
      ...planned,
      publicKeys: mergePublicKeys(manifest, product, given.publicKeys ?? {}, given.confirmations ?? {}),
    };
  };
  const planned = plan(await readManifest(manifestFile));
  await serializeManifest(planned);
  const notes = await verifySignatures(
    signedOf(given.file, planned.release),
    publicKeysOf(planned.publicKeys, planned.release.product),
  );
  const brought = await bring(given, addition.artifact, path.dirname(manifestFile), onProgress);
  try {
    const added = await changeManifest(manifestFile, (current) => {
      const { entries, publicKeys, added } = plan(current);
      return { entries, publicKeys, result: added, beforeWrite: brought.commit };
    });
    if (added.removedSamples.length > 0) await removeSampleFiles(manifestFile, added.removedSamples);
    return { ...added, notes };
  } finally {
    await brought.discard();
  }
}

/** Whatever kinds it serves as, it is one file with its signatures. */
function signedOf(file: string, { artifacts, product, version }: Release): SignedFile {
  const { fileName = "", sizeBytes = 0, minisign, edSignature } = artifacts.installer ?? artifacts.update ?? {};
  const fileNames = [path.basename(file), fileName];
  return { file, fileNames, sizeBytes, product, version: formatVersion(version), minisign, edSignature };
}

/** Deletes the files of samples that the manifest no longer names. One that cannot be deleted does no harm. */
async function removeSampleFiles(manifestFile: string, removed: readonly Release[]): Promise<void> {
  const filesOf = (releases: readonly Release[]) =>
    releases.flatMap(({ artifacts }) => ArtifactKind.options.flatMap((kind) => artifacts[kind]?.file ?? []));
  const folder = path.dirname(await realpath(manifestFile));
  const kept = new Set(filesOf((await readManifest(manifestFile)).releases));
  for (const file of new Set([...filesOf(removed), SAMPLE_KEY_FILE])) {
    if (!kept.has(file))
      await resolveArtifactPath(folder, file)
        .then((found) => rm(found))
        .catch(() => {});
  }
}

function additionOf(
  { file, release, kinds, artifact, destination: place, confirmations: allowed = {} }: Publication,
  digest: Digest,
): Addition {
  const fileName = artifact.fileName ?? path.basename(file);
  const contentType = artifact.contentType ?? CONTENT_TYPES[path.extname(fileName).toLowerCase()];
  const name = `${digest.sha256.slice(0, 16)}/${fileName}`; // the same bytes alone have the same name
  const where = { folder: { file: name }, storage: { s3Key: name }, url: place.to === "url" ? { url: place.url } : {} };
  const platform = parsePlatform(String(release.platform)) ?? release.platform;
  return {
    release: { ...release, platform },
    kinds,
    confirmations: allowed,
    artifact: { ...where[place.to], ...artifact, ...digest, fileName, contentType },
  };
}

async function bring(
  { file, destination: place }: Publication,
  artifact: ArtifactEntry,
  folder: string,
  onProgress?: OnProgress,
): Promise<StagedFile> {
  if (place.to === "url") return NOTHING;
  if (place.to === "folder") return copyIn(file, artifact, folder, onProgress);
  const { s3Key: key = "", sizeBytes, sha256, contentType = "application/octet-stream" } = artifact;
  const bytes = readChunks(file, (done) => onProgress?.("Uploading", done, sizeBytes));
  await place.storage.put({ key, sizeBytes, sha256, contentType, bytes });
  return NOTHING;
}

async function copyIn(
  file: string,
  artifact: ArtifactEntry,
  folder: string,
  onProgress?: OnProgress,
): Promise<StagedFile> {
  const target = path.join(folder, artifact.file ?? "");
  if (await isThere(target, artifact, onProgress)) return NOTHING; // an earlier try got so far
  const copy = await copyToFolder(file, folder, onProgress);
  if (copy.sha256 !== artifact.sha256) {
    await copy.discard();
    throw new PublishingError(`${file} changed while it was copied. Nothing was published.`);
  }
  return { commit: () => copy.moveTo(target), discard: copy.discard };
}

/** By its bytes: publishing again is how a damaged file is mended. */
async function isThere(file: string, { sizeBytes, sha256 }: ArtifactEntry, onProgress?: OnProgress): Promise<boolean> {
  const stats = await stat(file).catch(() => null);
  if (!stats?.isFile() || stats.size !== sizeBytes) return false;
  return (await digestFile(file, onProgress)).sha256 === sha256;
}
