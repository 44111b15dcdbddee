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

/** Where the file is served from: the catalog's folder, the object storage, or a URL that already has it. */
export type Destination =
  | { kind: "folder" }
  | { kind: "storage"; storage: NonNullable<Context["storage"]> }
  | { kind: "url"; url: string };

/** A file to publish. `fileName` defaults to the file's own name. */
export type Publication = Omit<Addition, "artifact"> & {
  file: string;
  artifact: Partial<Pick<ArtifactEntry, "fileName" | "contentType" | "minisign" | "edSignature">>;
  destination: Destination;
  /** The product's public keys, which the catalog keeps for later releases. */
  publicKeys?: PublicKeyInput;
};

/** A file that is ready to serve once `commit` has given it its name. `discard` deletes what is not committed. */
type StagedFile = { commit: () => Promise<void>; discard: () => Promise<void> };

const ALREADY_IN_PLACE: StagedFile = { commit: async () => {}, discard: async () => {} };
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".dmg": "application/x-apple-diskimage",
  ".exe": "application/x-msdownload",
  ".gz": "application/gzip",
  ".msi": "application/x-msi",
  ".zip": "application/zip",
};

/**
 * Publishes a file: hashes it, verifies its signatures, stores it and adds it to the manifest, in this order, so that
 * the manifest never names a missing file. Rejects invalid input before it writes anything. `now` is the default
 * release date. `notes` describe the signatures that could not be verified.
 * @throws PublishingError, ConfirmationRequiredError; errors of the storage or the file system
 */
export async function addRelease(
  manifestFile: string,
  publication: Publication,
  now: Date,
  onProgress?: OnProgress,
): Promise<AddResult & { notes: string[] }> {
  const { file, publicKeys = {}, confirmations = {} } = publication;
  const addition = toAddition(publication, await digestFile(file, onProgress));
  const plan = (manifest: EditableManifest) => {
    const planned = planAddition(manifest, addition, now);
    return {
      ...planned,
      publicKeys: mergePublicKeys(manifest, planned.release.product, publicKeys, confirmations),
    };
  };
  const planned = plan(await readManifest(manifestFile));
  await serializeManifest(planned);
  const keys = publicKeysOf(planned.publicKeys, planned.release.product);
  const notes = await verifySignatures(toSignedFile(file, planned.release), keys);
  const staged = await stage(publication, addition.artifact, path.dirname(manifestFile), onProgress);
  try {
    const added = await changeManifest(manifestFile, (current) => {
      const { entries, publicKeys, added } = plan(current);
      return { entries, publicKeys, result: added, beforeWrite: staged.commit };
    });
    if (added.removedSamples.length > 0) await removeSampleFiles(manifestFile, added.removedSamples);
    return { ...added, notes };
  } finally {
    await staged.discard();
  }
}

/** One file with its signatures, even if it is published as two kinds. */
function toSignedFile(file: string, { artifacts, product, version }: Release): SignedFile {
  const { fileName = "", sizeBytes = 0, minisign, edSignature } = artifacts.installer ?? artifacts.update ?? {};
  const fileNames = [path.basename(file), fileName];
  return { file, fileNames, sizeBytes, product, version: formatVersion(version), minisign, edSignature };
}

/** Deletes the sample files that the manifest no longer names. Ignores those that cannot be deleted. */
async function removeSampleFiles(manifestFile: string, removed: readonly Release[]): Promise<void> {
  const filesOf = (releases: readonly Release[]) =>
    releases.flatMap(({ artifacts }) => ArtifactKind.options.flatMap((kind) => artifacts[kind]?.file ?? []));
  const folder = path.dirname(await realpath(manifestFile));
  const used = new Set(filesOf((await readManifest(manifestFile)).releases));
  for (const file of new Set([...filesOf(removed), SAMPLE_KEY_FILE])) {
    if (used.has(file)) continue;
    await resolveArtifactPath(folder, file)
      .then((found) => rm(found))
      .catch(() => {});
  }
}

function toAddition(publication: Publication, digest: Digest): Addition {
  const { file, release, kinds, artifact, destination, confirmations = {} } = publication;
  const fileName = artifact.fileName ?? path.basename(file);
  const contentType = artifact.contentType ?? CONTENT_TYPES[path.extname(fileName).toLowerCase()];
  const name = `${digest.sha256.slice(0, 16)}/${fileName}`; // named by content: other bytes never overwrite it
  const locations = {
    folder: { file: name },
    storage: { s3Key: name },
    url: destination.kind === "url" ? { url: destination.url } : {},
  };
  return {
    release: { ...release, platform: parsePlatform(String(release.platform)) ?? release.platform },
    kinds,
    confirmations,
    artifact: { ...locations[destination.kind], ...artifact, ...digest, fileName, contentType },
  };
}

async function stage(
  { file, destination }: Publication,
  artifact: ArtifactEntry,
  folder: string,
  onProgress?: OnProgress,
): Promise<StagedFile> {
  if (destination.kind === "url") return ALREADY_IN_PLACE;
  if (destination.kind === "folder") return stageCopy(file, artifact, folder, onProgress);
  const { s3Key: key = "", sizeBytes, sha256, contentType = "application/octet-stream" } = artifact;
  const bytes = readChunks(file, (doneBytes) => onProgress?.("Uploading", doneBytes, sizeBytes));
  await destination.storage.put({ key, sizeBytes, sha256, contentType, bytes });
  return ALREADY_IN_PLACE;
}

async function stageCopy(
  file: string,
  artifact: ArtifactEntry,
  folder: string,
  onProgress?: OnProgress,
): Promise<StagedFile> {
  const target = path.join(folder, artifact.file ?? "");
  if (await hasSameBytes(target, artifact, onProgress)) return ALREADY_IN_PLACE; // copied by an interrupted run
  const copy = await copyToFolder(file, folder, onProgress);
  if (copy.sha256 !== artifact.sha256) {
    await copy.discard();
    throw new PublishingError(`${file} changed while it was copied. Nothing was published.`);
  }
  return { commit: () => copy.moveTo(target), discard: copy.discard };
}

/** Compares the bytes, since publishing again repairs a damaged file. */
async function hasSameBytes(
  file: string,
  { sizeBytes, sha256 }: ArtifactEntry,
  onProgress?: OnProgress,
): Promise<boolean> {
  const stats = await stat(file).catch(() => null);
  if (!stats?.isFile() || stats.size !== sizeBytes) return false;
  return (await digestFile(file, onProgress)).sha256 === sha256;
}
