import { create as contentDisposition } from "content-disposition";
import type { Context } from "../context";
import { AppError } from "../errors";
import { type Conditions, chooseRange, isNotModified } from "./conditions";
import type { Answer } from "./exchange";
import { type FilePart, type FoundFile, findFile, openFile, readPart } from "./files";
import type { Artifact, DownloadQuery, Platform, Release } from "./schema";
import { findVersion, platformOf, readSelection, selectRelease } from "./selection";

type Deps = Pick<Context, "catalog" | "log">;

const DEFAULT_ARCHITECTURES: Record<Platform, string> = { windows: "x64", macos: "universal" };
const PINNED = "public, max-age=31536000, immutable";
const MOVING = "public, max-age=60";

/** Artifacts whose files were reported as unusable: once each, however many ask for them. */
const reported = new WeakSet<Artifact>();

/**
 * Finds the file that a download names: pinned by `version`, else the newest. Files are found by the
 * catalog's entry alone. Nothing is opened before the answer's bytes are read.
 * @throws AppError not_found, invalid_query, release_not_found, range_not_satisfiable, catalog_unavailable
 */
export async function openDownload(
  deps: Deps,
  query: DownloadQuery & { platform: string },
  conditions: Conditions,
): Promise<Answer> {
  const { snapshot, release } = selectDownload(deps, query);
  const artifact = release.artifacts[query.kind];
  if (!artifact) throw new AppError("release_not_found");
  if (artifact.url !== undefined) return redirect(artifact.url);
  const found = await findOrReport(deps, snapshot.root, release, artifact);
  const body = {
    open: () => openFile(found, artifact),
    onError: (error: unknown) => deps.log.error({ err: error, release: release.id }, "download cut short"),
  };
  return sendFile(artifact, found.modifiedAt, body, query.version ? PINNED : MOVING, conditions);
}

function selectDownload({ catalog }: Pick<Deps, "catalog">, query: DownloadQuery & { platform: string }) {
  const platform = platformOf(query.platform);
  if (!platform) throw new AppError("not_found");
  const { product = "core", architecture = DEFAULT_ARCHITECTURES[platform], channel, version, kind } = query;
  const snapshot = catalog.current();
  const wanted = readSelection({ platform, product, architecture, channel }, snapshot);
  const release =
    snapshot && (version ? findVersion(snapshot, wanted, version) : selectRelease(snapshot, wanted, kind));
  if (!release) throw new AppError("release_not_found");
  return { snapshot, release };
}

/** Never kept for long, pinned or not: the bytes stay what they are, but where they lie may change. */
function redirect(url: string): Answer {
  return { status: 302, headers: { Location: url, "Cache-Control": MOVING }, body: null };
}

async function findOrReport({ log }: Deps, root: string, release: Release, artifact: Artifact): Promise<FoundFile> {
  try {
    return await findFile(root, artifact.file ?? "", artifact);
  } catch (error) {
    if (!reported.has(artifact)) log.error({ err: error, release: release.id, file: artifact.file }, "file unusable");
    reported.add(artifact);
    throw new AppError("release_not_found", { cause: error });
  }
}

/** RFC 9110 (conditions and ranges), RFC 6266 (the file's name), RFC 9530 (the digest of the whole). */
function sendFile(
  artifact: Artifact,
  modifiedAt: Date,
  body: Pick<FilePart, "open" | "onError">,
  cacheControl: string,
  conditions: Conditions,
): Answer {
  const { sizeBytes } = artifact;
  const validators = { etag: `"sha256-${artifact.sha256}"`, modifiedAt };
  const headers = {
    ETag: validators.etag,
    "Last-Modified": modifiedAt.toUTCString(),
    "Accept-Ranges": "bytes",
    "Cache-Control": cacheControl,
  };
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
    body: readPart({ ...body, first, last }),
  };
}
