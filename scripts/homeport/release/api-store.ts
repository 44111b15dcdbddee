import path from "node:path";
import { CommandError } from "../../../lib/errors";
import { type HashedFile, hashDraft, type ReleaseDraft } from "../../../lib/releases/publishing/draft";
import { BLOCK_MAP_EXTENSION } from "../../../lib/releases/publishing/files/block-map";
import { digestFile } from "../../../lib/releases/publishing/files/build-file";
import type { ReleaseDocument } from "../../../lib/releases/publishing/list";
import type { PublishedReleases, ReleasesFilter } from "../../../lib/releases/publishing/schema";
import { drawProgress } from "../terminal";
import type { AdminApi } from "../transport/admin-api";
import type { ReleaseStore } from "./release-store";
import { type Uploaded, type UploadedFile, type UploadIdStore, uploadFile } from "./upload";
import { verifyReleases } from "./verify-downloads";

/** The catalog of a service. `isElsewhere`: on another machine, so its files are verified as clients download them. */
export function apiStore(api: AdminApi, uploadIds: UploadIdStore, isElsewhere: boolean): ReleaseStore {
  const list = async ({ ids: _, ...query }: ReleasesFilter) =>
    (await api.list("listReleases", "releases", { query })) as unknown as ReleaseDocument[];
  return {
    list,
    add: (drafts) => add(api, uploadIds, drafts),
    update: (filter, change) => api.call("changeReleases", { body: { filter, change } }),
    promote: (filter, promotion) => api.call("promoteReleases", { body: { filter, ...promotion } }),
    remove: (filter, options, ifMatch) => api.callWithTag("removeReleases", { body: { filter, ...options }, ifMatch }),
    prune: (filter, { publishedBefore, ...options }, ifMatch) => {
      const body = { filter, ...options, publishedBefore: publishedBefore?.toISOString() };
      return api.callWithTag("pruneReleases", { body, ifMatch });
    },
    verify: (filter, options) => verifyReleases(api, () => list(filter), { ...options, isElsewhere }),
  };
}

async function add(
  api: AdminApi,
  uploadIds: UploadIdStore,
  drafts: readonly ReleaseDraft[],
): Promise<PublishedReleases> {
  const uploads = new Map<string, Uploaded>();
  try {
    return await publish(api, uploadIds, drafts, uploads);
  } catch (error) {
    if (!(error instanceof CommandError && error.code === "validation_failed")) throw error;
    const gone = await Promise.all([...uploads.values()].map((one) => one.isGone()));
    if (!gone.includes(true)) throw error;
    // The service may have stopped after it had published them: it answers that they are unchanged.
    return await publish(api, uploadIds, drafts, new Map());
  }
}

/** Uploads the files that are not in `uploads`, and publishes them. */
async function publish(
  api: AdminApi,
  uploadIds: UploadIdStore,
  drafts: readonly ReleaseDraft[],
  uploads: Map<string, Uploaded>,
): Promise<PublishedReleases> {
  const upload = async (source: UploadedFile) => {
    const uploaded = uploads.get(source.file) ?? (await uploadFile(api.client, uploadIds, source));
    uploads.set(source.file, uploaded);
    return uploaded.uploadId;
  };
  const releases = [];
  for (const draft of drafts) {
    const { release, files, publicKeys, confirmations } = await hashDraft(draft, drawProgress);
    const sent = [];
    for (const file of files) {
      const { fileName, sizeBytes, sha256 } = file.artifact;
      const uploadId = await upload({ file: file.file, fileName, sizeBytes, sha256 });
      const [map, attestation] = [blockMapOf(file), await attestationOf(file)];
      const blockMapUploadId = map && (await upload(map));
      const attestationUploadId = attestation && (await upload(attestation));
      sent.push({ ...toRequestFile(file, uploadId), blockMapUploadId, attestationUploadId });
    }
    releases.push({ release, files: sent, publicKeys, confirmations });
  }
  const added = await api.call("publishReleases", { body: { releases } });
  for (const { forget } of uploads.values()) await forget();
  return added;
}

/** The block map that was found beside the file, or was named. The service makes the others itself. */
function blockMapOf({ blockMap, artifact: { fileName } }: HashedFile): UploadedFile | undefined {
  if (!blockMap?.file) return undefined;
  const { file, sizeBytes, sha256 } = blockMap;
  return { file, fileName: `${fileName}${BLOCK_MAP_EXTENSION}`, sizeBytes, sha256 };
}

async function attestationOf({ attestationFile: file }: HashedFile): Promise<UploadedFile | undefined> {
  if (file === undefined) return undefined;
  const { sizeBytes, sha256 } = await digestFile(file);
  return { file, fileName: path.basename(file), sizeBytes, sha256 };
}

function toRequestFile({ kinds, from, destination, artifact }: HashedFile, uploadId: string) {
  const { fileName, contentType, minisign, edSignature, sizeBytes, sha256 } = artifact;
  const expected = { by: "the client", sizeBytes, sha256 };
  return {
    uploadId,
    kinds: [...kinds],
    from,
    destination,
    expected,
    artifact: { fileName, contentType, minisign, edSignature },
  };
}
