import type { Logger } from "pino";
import type { Context } from "../context";
import { AppError, type ErrorCode } from "../errors";
import { attachment } from "../platform/content-disposition";
import type { BodyPart, Caching, DownloadContent } from "../platform/response-content";
import type { Adoption } from "./adoption/adoption";
import { findArtifactFile, readFileParts } from "./artifact-files";
import type { Catalog } from "./catalog/catalog";
import type { Snapshot } from "./catalog/snapshot";
import type { DownloadQuery } from "./http-schema";
import { verifyIntegrity } from "./integrity";
import { DEFAULT_ARCHITECTURES, type Platform, parsePlatform } from "./platforms";
import { completeFiles, releaseFiles, type ServedFile, withFilesBeside } from "./release-files";
import { type Artifact, type Delta, formatVersion, type Release } from "./schema";
import { parseFileType, selectByFileType } from "./selection/file-types";
import { parseReleaseSelector, type ReleaseSelector } from "./selection/parse-query";
import { type ArtifactSelector, findVersion, SELECTORS_BY_KIND, selectRelease } from "./selection/select-release";

/** Picks the installer, else another file, else the update: `format` chooses among them. */
export const selectForPeople: ArtifactSelector = ({ artifacts: { installer, others, update } }) =>
  installer ?? others[0] ?? update;

const selectForUpdaters: ArtifactSelector = (release) => completeFiles(release)[0];

/**
 * The files that a download may be, best first. By default people on Linux get an AppImage, which runs on every
 * distribution, else the installer. @throws AppError invalid_query
 */
function downloadSelectors(platform: Platform, { kind, format, file }: DownloadQuery): readonly ArtifactSelector[] {
  if (file !== undefined) return [(release) => releaseFiles(release).find((one) => findServed([one], file))];
  if (format !== undefined) {
    return [selectByFileType(kind === "update" ? selectForUpdaters : selectForPeople, parseFileType(format))];
  }
  if (kind !== undefined) return [SELECTORS_BY_KIND[kind]];
  const installer = SELECTORS_BY_KIND.installer;
  return platform === "linux" ? [selectByFileType(selectForPeople, "appimage"), installer] : [installer];
}

/** A file by its name, or what is beside one. */
const findServed = (files: readonly (Artifact | Delta)[], name: string | undefined) =>
  files.flatMap(withFilesBeside).find(({ fileName }) => fileName === name);

/** Whether a download of one version is the same file for good, even if files are added to its release. */
function isSingleFile(platform: Platform, { kind, format, file }: DownloadQuery): boolean {
  return file !== undefined || (format === undefined && (kind !== undefined || platform !== "linux"));
}

type ContentDeps = {
  storage: Pick<NonNullable<Context["storage"]>, "presignGet"> | null;
  log: Logger;
  /** Counts the download. Not called before the response is sent, except for a redirect. */
  recordDownload: Adoption["recordDownload"];
};
type Deps = ContentDeps & { catalog: Catalog };
type DownloadRequest = DownloadQuery & { platform: string };
export type Selected = { snapshot: Snapshot; release: Release; artifact: ServedFile; caching: Caching };

/** The errors of a download apart from those of its query. */
export const DOWNLOAD_ERRORS: ErrorCode[] = [
  "not_found",
  "release_not_found",
  "precondition_failed",
  "range_not_satisfiable",
  "rate_limited",
  "catalog_unavailable",
  "artifact_unavailable",
];

/**
 * Finds what to send for a download: the release pinned by `version`, else the newest.
 * @throws AppError invalid_query, not_found, release_not_found, catalog_unavailable, artifact_unavailable
 */
export async function resolveDownload(deps: Deps, request: DownloadRequest): Promise<DownloadContent> {
  return artifactContent(deps, selectDownload(deps, request));
}

/**
 * What to send for one file of a release. Sends no request to the object storage.
 * @throws AppError release_not_found, artifact_unavailable
 */
export async function artifactContent(deps: ContentDeps, selected: Selected): Promise<DownloadContent> {
  const { release, artifact, caching } = selected;
  const record = (event: "started" | "finished") => {
    if (artifact.sha512 === null) return; // what is beside a file is not the release
    deps.recordDownload({ ...release, version: formatVersion(release.version), event });
  };
  // Even a pinned redirect is cached briefly: the bytes stay the same, but their location may change.
  if (artifact.url !== undefined) {
    record("started");
    return { kind: "redirect", url: artifact.url, caching: caching === "immutable" ? "shared" : caching };
  }
  const { fileName, contentType, sizeBytes, sha256, sha512, s3Key } = artifact;
  const metadata = { fileName, contentType, sizeBytes, sha256, sha512 };
  if (s3Key !== undefined) {
    const { storage } = deps;
    if (!storage) throw new AppError("release_not_found");
    const object = { key: s3Key, contentType, contentDisposition: attachment(fileName) };
    const presign = () => {
      record("started");
      return storage.presignGet(object);
    };
    // The presigned URL expires, so the redirect to it is never cached.
    return { ...metadata, kind: "object", caching: "never", presign };
  }
  const file = await findIntactFile(deps, selected);
  const onError = (error: unknown) => deps.log.error({ err: error, release: release.id }, "download aborted");
  const read = (parts: readonly BodyPart[]) =>
    countDownload(readFileParts({ file, parts, onError }), parts, sizeBytes, record);
  return { ...metadata, kind: "file", caching, modifiedAt: file.modifiedAt, read };
}

function selectDownload({ catalog }: Pick<Deps, "catalog">, request: DownloadRequest): Selected {
  const platform = parsePlatform(request.platform);
  if (!platform) throw new AppError("not_found");
  const { product = "core", architecture = DEFAULT_ARCHITECTURES[platform], channel, version } = request;
  if (request.file !== undefined && !version) {
    const errors = [{ pointer: "?version", code: "required", detail: "Is required with file" }];
    throw new AppError("invalid_query", { errors, fields: { missing: ["version"] } });
  }
  const snapshot = catalog.current();
  const selector = parseReleaseSelector({ platform, product, architecture, channel }, snapshot);
  const selectors = downloadSelectors(platform, request);
  if (!snapshot) throw new AppError("catalog_unavailable");
  const { release, artifact, isClientSpecific } = selectFirst(snapshot, selector, selectors, request);
  const selected = { snapshot, release, artifact: findServed([artifact], request.file) ?? artifact };
  // A fallback to another channel, architecture or file may be replaced by an exact one later.
  const isExact =
    release.channel === selector.channel &&
    release.architecture === selector.architecture &&
    isSingleFile(platform, request);
  if (release.sample) return { ...selected, caching: "never" }; // a real release may get the same URL
  if (version && isExact) return { ...selected, caching: "immutable" };
  return { ...selected, caching: isClientSpecific ? "per-client" : "shared" };
}

function selectFirst(
  snapshot: Snapshot,
  selector: ReleaseSelector,
  selectors: readonly ArtifactSelector[],
  { version, channel, clientId }: DownloadRequest,
) {
  const onChannel = channel && selector.channel;
  let isClientSpecific = false;
  for (const select of selectors) {
    const selection = version
      ? { release: findVersion(snapshot, selector, version, onChannel, select), isClientSpecific: false }
      : selectRelease(snapshot, selector, select, { clientId });
    const { release } = selection;
    isClientSpecific ||= selection.isClientSpecific;
    const artifact = release && select(release);
    if (artifact) return { release, artifact, isClientSpecific };
  }
  throw new AppError("release_not_found");
}

async function findIntactFile({ log }: ContentDeps, { snapshot, release, artifact }: Selected) {
  const { file: relativePath } = artifact;
  try {
    if (snapshot.root === null || relativePath === undefined) throw new Error("The catalog has no folder");
    const file = await findArtifactFile(snapshot.root, relativePath, artifact);
    await verifyIntegrity(file, artifact.sha256);
    return file;
  } catch (error) {
    log.error({ err: error, release: release.id, file: relativePath }, "release file unavailable");
    throw new AppError("artifact_unavailable", { cause: error });
  }
}

/** Counts a download: started with the file's first byte, finished when its last was sent, in whatever requests. */
async function* countDownload(
  body: AsyncIterable<Uint8Array>,
  parts: readonly BodyPart[],
  sizeBytes: number,
  record: (event: "started" | "finished") => void,
): AsyncGenerator<Uint8Array> {
  const has = (at: number) => parts.some((part) => "first" in part && part.first <= at && at <= part.last);
  if (has(0)) record("started");
  yield* body;
  if (has(sizeBytes - 1)) record("finished");
}
