import { create as contentDisposition } from "content-disposition";
import type { Context } from "../context";
import { AppError, type ErrorCode } from "../errors";
import { type ArtifactFile, findArtifactFile, readFileRange } from "./artifact-files";
import type { Snapshot } from "./catalog/snapshot";
import { type Conditions, chooseRange, isNotModified, meetsPreconditions } from "./conditions";
import type { Answer } from "./exchange";
import { verifyIntegrity } from "./integrity";
import type { Artifact, DownloadQuery, Platform, Release } from "./schema";
import { parsePlatform, parseReleaseSelector } from "./selection/release-selector";
import { findVersion, SELECTORS_BY_KIND, selectRelease } from "./selection/selection";

type Deps = Pick<Context, "catalog" | "storage" | "log">;
type Wish = DownloadQuery & { platform: string };
/** What is served, and how long an answer may be kept. */
type Chosen = { snapshot: Snapshot; release: Release; cacheControl: string };
type Bytes = (first: number, last: number) => AsyncIterable<Uint8Array>;

const DEFAULT_ARCHITECTURES: Record<Platform, string> = { windows: "x64", macos: "universal" };
const PINNED = "public, max-age=31536000, immutable";
const MOVING = "public, max-age=60";
/** While a release is being rolled out, another client may get another one. */
const PERSONAL = "private, no-cache";
/** For addresses that expire, and for samples: a real release may have the same version, and so the same address. */
const ONCE = "no-store";

/** What a download is refused with, beside its query. */
export const DOWNLOAD_ERRORS: ErrorCode[] = [
  ...(["not_found", "release_not_found", "precondition_failed", "range_not_satisfiable"] as const),
  ...(["catalog_unavailable", "artifact_unavailable"] as const),
];

/** What was last reported of an artifact whose file cannot be served: once each, however many ask for it. */
const reported = new WeakMap<Artifact, string>();

/**
 * Answers a download: pinned by `version`, else the newest. Files and objects are found by the catalog's entry
 * alone. Nothing is opened before the answer's bytes are read, and the object storage is never asked.
 * @throws AppError invalid_query, DOWNLOAD_ERRORS
 */
export async function resolveDownload(deps: Deps, query: Wish, conditions: Conditions): Promise<Answer> {
  const chosen = selectDownload(deps, query);
  const { cacheControl } = chosen;
  const artifact = chosen.release.artifacts[query.kind];
  if (!artifact) throw new AppError("release_not_found");
  // Never kept for long, pinned or not: the bytes stay what they are, but where they lie may change.
  if (artifact.url !== undefined) return redirect(artifact.url, cacheControl === PINNED ? MOVING : cacheControl);
  if (artifact.s3Key !== undefined) return answerStored(deps, artifact, artifact.s3Key, conditions);
  const file = await findOrReport(deps, chosen, artifact);
  const onError = (error: unknown) => deps.log.error({ err: error, release: chosen.release.id }, "download cut short");
  const bytes: Bytes = (first, last) => readFileRange({ file, first, last, onError });
  return sendArtifact(artifact, { modifiedAt: file.modifiedAt, cacheControl, bytes }, conditions);
}

function selectDownload({ catalog }: Pick<Deps, "catalog">, query: Wish): Chosen {
  const platform = parsePlatform(query.platform);
  if (!platform) throw new AppError("not_found");
  const { product = "core", architecture = DEFAULT_ARCHITECTURES[platform], channel, version, kind, clientId } = query;
  const snapshot = catalog.current();
  const wanted = parseReleaseSelector({ platform, product, architecture, channel }, snapshot);
  if (!snapshot) throw new AppError("catalog_unavailable");
  const { release, isClientSpecific } = version
    ? { release: findVersion(snapshot, wanted, version, channel && wanted.channel), isClientSpecific: false }
    : selectRelease(snapshot, wanted, SELECTORS_BY_KIND[kind], { clientId });
  if (!release) throw new AppError("release_not_found");
  // A build that stands in for another channel's or architecture's may get one of its own later.
  const isExact = release.channel === wanted.channel && release.architecture === wanted.architecture;
  const cacheControl = release.sample ? ONCE : version && isExact ? PINNED : isClientSpecific ? PERSONAL : MOVING;
  return { snapshot, release, cacheControl };
}

function redirect(url: string, cacheControl: string): Answer {
  return { status: 302, headers: { Location: url, "Cache-Control": cacheControl }, body: null };
}

/** A HEAD is answered from the catalog: an address that is signed for GET refuses it. */
async function answerStored({ storage }: Deps, artifact: Artifact, key: string, conditions: Conditions) {
  if (!storage) throw new AppError("release_not_found");
  if (conditions.head) return sendArtifact(artifact, { modifiedAt: null, cacheControl: ONCE, bytes: null }, conditions);
  const { contentType, fileName } = artifact;
  return redirect(
    await storage.presignGet({ key, contentType, contentDisposition: contentDisposition(fileName) }),
    ONCE,
  );
}

async function findOrReport({ log }: Deps, { snapshot, release }: Chosen, artifact: Artifact): Promise<ArtifactFile> {
  const { file } = artifact;
  try {
    if (snapshot.root === null || file === undefined) throw new Error("The catalog has no folder");
    const found = await findArtifactFile(snapshot.root, file, artifact);
    await verifyIntegrity(found, artifact.sha256);
    reported.delete(artifact);
    return found;
  } catch (error) {
    const fault = String(error);
    if (reported.get(artifact) !== fault) {
      log.error({ err: error, release: release.id, file }, "release file cannot be served");
    }
    reported.set(artifact, fault);
    throw new AppError("artifact_unavailable", { cause: error });
  }
}

/** RFC 9110 (conditions and ranges), RFC 6266 (the file's name), RFC 9530 (the digest of the whole). */
function sendArtifact(
  artifact: Artifact,
  { modifiedAt, cacheControl, bytes }: { modifiedAt: Date | null; cacheControl: string; bytes: Bytes | null },
  conditions: Conditions,
): Answer {
  const { sizeBytes } = artifact;
  const validators = { etag: `"sha256-${artifact.sha256}"`, modifiedAt };
  const headers = {
    ETag: validators.etag,
    ...(modifiedAt ? { "Last-Modified": modifiedAt.toUTCString() } : {}),
    "Accept-Ranges": "bytes",
    "Cache-Control": cacheControl,
  };
  if (!meetsPreconditions(conditions, validators)) throw new AppError("precondition_failed");
  if (isNotModified(conditions, validators)) return { status: 304, headers, body: null };
  const range = chooseRange(conditions, validators, sizeBytes);
  if (range === "unsatisfiable") {
    throw new AppError("range_not_satisfiable", { headers: { "Content-Range": `bytes */${sizeBytes}` } });
  }
  const { first, last } = range ?? { first: 0, last: sizeBytes - 1 };
  return {
    status: range ? 206 : 200,
    headers: {
      "Content-Type": artifact.contentType,
      "Content-Length": String(last - first + 1),
      "Content-Disposition": contentDisposition(artifact.fileName),
      "Repr-Digest": `sha-512=:${artifact.sha512}:`,
      ...(range ? { "Content-Range": `bytes ${first}-${last}/${sizeBytes}` } : {}),
      ...headers,
    },
    body: bytes?.(first, last) ?? null,
  };
}
