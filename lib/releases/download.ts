import type { Logger } from "pino";
import { attachment } from "../attachment";
import { AppError, type ErrorCode } from "../errors";
import type { BodyPart, Caching, DownloadContent } from "../response-content";
import { findArtifactFile, readFileParts } from "./artifact-files";
import type { Snapshot } from "./catalog/snapshot";
import type { Catalog } from "./catalog/watch";
import type { DownloadQuery } from "./http-schema";
import { verifyIntegrity } from "./integrity";
import { releaseFiles } from "./release-files";
import type { Artifact, Platform, Release } from "./schema";
import { parsePlatform, parseReleaseSelector } from "./selection/release-selector";
import { findVersion, SELECTORS_BY_KIND, selectRelease } from "./selection/selection";

type Storage = {
  presignGet: (object: { key: string; contentDisposition: string; contentType: string }) => Promise<string>;
};
type Deps = { catalog: Catalog; storage: Storage | null; log: Logger };
type DownloadRequest = DownloadQuery & { platform: string };
type Selected = { snapshot: Snapshot; release: Release; caching: Caching };

const DEFAULT_ARCHITECTURES: Record<Platform, string> = {
  windows: "x64",
  macos: "universal",
  linux: "x64",
};

/** The errors of a download apart from those of its query. */
export const DOWNLOAD_ERRORS: ErrorCode[] = [
  "not_found",
  "release_not_found",
  "precondition_failed",
  "range_not_satisfiable",
  "catalog_unavailable",
  "artifact_unavailable",
];

/**
 * Finds what to send for a download: the release pinned by `version`, else the newest. Files and objects are found by
 * the catalog's entry alone. Sends no request to the object storage.
 * @throws AppError invalid_query, not_found, release_not_found, catalog_unavailable, artifact_unavailable
 */
export async function resolveDownload(deps: Deps, request: DownloadRequest): Promise<DownloadContent> {
  const selected = selectDownload(deps, request);
  const { release, caching } = selected;
  const artifact = artifactOf(release, request);
  if (!artifact) throw new AppError("release_not_found");
  // Even a pinned redirect is cached briefly: the bytes stay the same, but their location may change.
  if (artifact.url !== undefined) {
    return { kind: "redirect", url: artifact.url, caching: caching === "immutable" ? "shared" : caching };
  }
  const { fileName, contentType, sizeBytes, sha256, sha512, s3Key } = artifact;
  const metadata = { fileName, contentType, sizeBytes, sha256, sha512 };
  if (s3Key !== undefined) {
    const { storage } = deps;
    if (!storage) throw new AppError("release_not_found");
    const object = { key: s3Key, contentType, contentDisposition: attachment(fileName) };
    // The presigned URL expires, so the redirect to it is never cached.
    return { ...metadata, kind: "object", caching: "never", presign: () => storage.presignGet(object) };
  }
  const file = await findIntactFile(deps, selected, artifact);
  const onError = (error: unknown) => deps.log.error({ err: error, release: release.id }, "download aborted");
  const read = (parts: readonly BodyPart[]) => readFileParts({ file, parts, onError });
  return { ...metadata, kind: "file", caching, modifiedAt: file.modifiedAt, read };
}

function artifactOf(release: Release, { kind, file }: DownloadRequest): Artifact | undefined {
  if (file === undefined) return release.artifacts[kind];
  return releaseFiles(release).find(({ fileName }) => fileName === file);
}

function selectDownload({ catalog }: Pick<Deps, "catalog">, request: DownloadRequest): Selected {
  const platform = parsePlatform(request.platform);
  if (!platform) throw new AppError("not_found");
  const { product = "core", architecture = DEFAULT_ARCHITECTURES[platform], channel, version, clientId } = request;
  if (request.file !== undefined && !version) throw missingVersion();
  const snapshot = catalog.current();
  const selector = parseReleaseSelector({ platform, product, architecture, channel }, snapshot);
  if (!snapshot) throw new AppError("catalog_unavailable");
  const { release, isClientSpecific } = version
    ? { release: findVersion(snapshot, selector, version, channel && selector.channel), isClientSpecific: false }
    : selectRelease(snapshot, selector, SELECTORS_BY_KIND[request.kind], { clientId });
  if (!release) throw new AppError("release_not_found");
  // A fallback to another channel or architecture may be replaced by an exact build later.
  const isExact = release.channel === selector.channel && release.architecture === selector.architecture;
  if (release.sample) return { snapshot, release, caching: "never" }; // a real release may get the same URL
  if (version && isExact) return { snapshot, release, caching: "immutable" };
  return { snapshot, release, caching: isClientSpecific ? "per-client" : "shared" };
}

function missingVersion(): AppError {
  const errors = [{ pointer: "?version", code: "required", detail: "Is required with file" }];
  return new AppError("invalid_query", { errors, fields: { missing: ["version"] } });
}

async function findIntactFile({ log }: Deps, { snapshot, release }: Selected, artifact: Artifact) {
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
