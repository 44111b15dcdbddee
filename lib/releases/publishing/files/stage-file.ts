import { stat } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import type { Context } from "../../../context";
import { AppError } from "../../../errors";
import { makeFolder, writeDurably } from "../../../platform/files/durable";
import type { ArtifactEntry, HashedFile } from "../draft";
import { copyToFolder, digestFile, linkToFolder, type OnProgress, readChunks } from "./build-file";

/** A file that is ready to serve once `commit` has given it its name. `discard` deletes what is not committed. */
export type StagedFile = { commit: () => Promise<void>; discard: () => Promise<void> };

type Deps = { folder: string; storage: Context["storage"]; onProgress?: OnProgress | undefined };

const NOTHING_TO_COMMIT: StagedFile = { commit: async () => {}, discard: async () => {} };

/**
 * Copies a file into the catalog's folder under a temporary name, or uploads it to the object storage.
 * @throws AppError if the file has changed since it was hashed; errors of the storage or the file system
 */
export async function stageFile(deps: Deps, hashed: HashedFile): Promise<StagedFile> {
  const { file, artifact, destination } = hashed;
  if (destination.kind === "url") return NOTHING_TO_COMMIT;
  if (destination.kind === "folder") return stageCopy(deps, hashed);
  if (!deps.storage)
    throw new AppError("release_invalid", "The object storage is not configured: set the RELEASE_S3_ variables.");
  const { s3Key: key = "", sizeBytes, sha256, contentType = "application/octet-stream" } = artifact;
  const bytes = readChunks(file, (doneBytes) => deps.onProgress?.("Uploading", doneBytes, sizeBytes));
  await deps.storage.put({ key, sizeBytes, sha256, contentType, bytes });
  return NOTHING_TO_COMMIT;
}

/** Prepares a file's block map. @throws errors of the storage */
export async function stageBlockMap(
  { folder, storage }: Deps,
  { artifact, blockMap }: HashedFile,
): Promise<StagedFile> {
  const { file, s3Key, url } = artifact.blockMap ?? {};
  if (!blockMap || url !== undefined) return NOTHING_TO_COMMIT;
  const { bytes, sizeBytes, sha256 } = blockMap;
  if (s3Key !== undefined) {
    await storage?.put({
      key: s3Key,
      sizeBytes,
      sha256,
      contentType: "application/gzip",
      bytes: Readable.from([bytes]),
    });
    return NOTHING_TO_COMMIT;
  }
  const target = path.join(/* turbopackIgnore: true */ folder, file ?? "");
  const commit = async () => {
    await makeFolder(path.dirname(target));
    await writeDurably(target, bytes);
  };
  return { ...NOTHING_TO_COMMIT, commit };
}

async function stageCopy(
  { folder, onProgress }: Deps,
  { file, isTemporary, artifact }: HashedFile,
): Promise<StagedFile> {
  const target = path.join(folder, artifact.file ?? "");
  // Copied by an interrupted run, unless it is deleted before this one has the lock.
  if (await hasSameBytes(target, artifact, onProgress))
    return { ...NOTHING_TO_COMMIT, commit: () => assertPresent(target) };
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
async function hasSameBytes(
  file: string,
  { sizeBytes, sha256 }: ArtifactEntry,
  onProgress?: OnProgress,
): Promise<boolean> {
  const stats = await stat(file).catch(() => null);
  if (!stats?.isFile() || stats.size !== sizeBytes) return false;
  return (await digestFile(file, onProgress)).sha256 === sha256;
}
