import type { Operator } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { AppError, isAppError } from "../../../errors";
import type { Upload } from "../../../releases/uploads/upload-store";
import { consumeUploads } from "../../../releases/uploads/uploads";
import { addReleases, type PublishDeps } from "../add";
import type { ReleaseDraft } from "../publish/draft";
import type { NewReleases, PublishedReleases } from "../schemas/releases";
import { requireCatalogFile, withAppErrors } from "./app-errors";
import { recordPublication } from "./publication";

type Deps = Pick<Context, "catalog" | "config" | "db" | "now" | "storage" | "webhooks">;
type Uploads = ReadonlyMap<string, Upload>;
type NewFile = NewReleases["releases"][number]["files"][number];

/**
 * Publishes uploaded files as releases, all of them visible at once, and deletes the uploads. If it fails, nothing is
 * published and the uploads stay.
 * @throws AppError upload_incomplete, upload_locked, validation_failed for an unknown upload; those of `withAppErrors`
 */
export async function publishUploads(
  deps: Deps,
  operator: Operator,
  owner: string,
  { releases }: NewReleases,
): Promise<PublishedReleases> {
  const { catalog, config, now, storage } = deps;
  const manifestFile = requireCatalogFile(config);
  const ids = releases.flatMap(({ files }) =>
    files.flatMap(({ uploadId, blockMapUploadId }) => [uploadId, ...(blockMapUploadId ? [blockMapUploadId] : [])]),
  );
  const published = await consumeUploads(deps, owner, ids, async (uploads) => {
    const drafts = releases.map(
      (draft): ReleaseDraft => ({
        ...draft,
        files: draft.files.map((file) => toDraftFile(file, uploads)),
      }),
    );
    const aroundWrite: PublishDeps["aroundWrite"] = ({ releases }, write) =>
      recordPublication(deps, operator, releases, write);
    const add = () => addReleases({ manifestFile, storage, now, aroundWrite }, drafts);
    const added = await withAppErrors(manifestFile, add);
    return { ...added, removedSamples: added.removedSamples.map(({ id }) => id) };
  }).catch((error: unknown) => {
    throw isAppError(error) && error.code === "upload_not_found" ? unknownUpload(error) : error;
  });
  await catalog.refresh();
  return published;
}

function toDraftFile({ uploadId, blockMapUploadId = "", expected, artifact, ...file }: NewFile, uploads: Uploads) {
  const upload = uploads.get(uploadId);
  if (!upload) throw new Error(`The upload ${uploadId} is not locked`);
  const fileName = artifact?.fileName ?? upload.fileName ?? undefined;
  return {
    ...file,
    file: upload.file,
    isTemporary: true as const,
    artifact: { ...artifact, fileName },
    blockMapFile: uploads.get(blockMapUploadId)?.file,
    ...(expected ? { expected: { by: "the request", ...expected } } : {}),
  };
}

function unknownUpload(cause: AppError): AppError {
  const detail = "An upload does not exist, or it belongs to another caller";
  return new AppError("validation_failed", {
    errors: [{ pointer: "/releases", code: "unknown_upload", detail }],
    cause,
  });
}
