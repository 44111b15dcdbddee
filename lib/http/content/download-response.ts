import { attachment } from "../../attachment";
import { AppError } from "../../errors";
import type { Caching, DownloadContent } from "../../response-content";
import { LOADABLE_ANYWHERE } from "../browser/security-headers";
import type { RequestHead } from "../route-request";
import { type ResponseHeaders, RouteResponse } from "../route-response";
import { assertPreconditions, isNotModified, matchesIfRange, type Validators } from "./conditional";
import { type ByteRange, parseRange } from "./ranges";

type FileContent = Exclude<DownloadContent, { kind: "redirect" }>;

const CACHE_CONTROL: Record<Caching, string> = {
  immutable: "public, max-age=31536000, immutable",
  shared: "public, max-age=60",
  "per-client": "private, no-cache",
  never: "no-store",
};

/**
 * Responds with a file, part of it, or a redirect: conditional requests and ranges (RFC 9110, sections 13 and 14), the
 * file name (RFC 6266) and the digest of the whole file (RFC 9530).
 * @throws AppError precondition_failed, range_not_satisfiable
 */
export async function downloadResponse(content: DownloadContent, request: RequestHead): Promise<RouteResponse> {
  if (content.kind === "redirect") return redirect(content.url, content.caching);
  // A URL that is signed for GET refuses HEAD, so HEAD gets what the redirect's target would respond.
  if (content.kind === "object" && request.method !== "HEAD") return redirect(await content.presign(), content.caching);
  return fileResponse(content, request);
}

function redirect(url: string, caching: Caching): RouteResponse {
  return new RouteResponse(302, null, { Location: url, "Cache-Control": CACHE_CONTROL[caching], ...LOADABLE_ANYWHERE });
}

function fileResponse(content: FileContent, request: RequestHead): RouteResponse {
  const { sizeBytes, sha256, caching } = content;
  const modifiedAt = content.kind === "file" ? content.modifiedAt : null;
  const validators = { etag: `"sha256-${sha256}"`, modifiedAt };
  const headers: ResponseHeaders = { ETag: validators.etag, ...LOADABLE_ANYWHERE };
  if (modifiedAt) headers["Last-Modified"] = modifiedAt.toUTCString();
  headers["Accept-Ranges"] = "bytes";
  headers["Cache-Control"] = CACHE_CONTROL[caching];
  assertPreconditions(request.headers, validators);
  if (isNotModified(request.headers, validators)) return new RouteResponse(304, null, headers);
  const range = requestedRange(request, validators, sizeBytes);
  const { first, last } = range ?? { first: 0, last: sizeBytes - 1 };
  headers["Content-Type"] = content.contentType;
  headers["Content-Length"] = String(last - first + 1);
  headers["Content-Disposition"] = attachment(content.fileName);
  headers["Repr-Digest"] = `sha-512=:${content.sha512}:`;
  if (range) headers["Content-Range"] = `bytes ${first}-${last}/${sizeBytes}`;
  const body = content.kind === "file" ? content.read(first, last) : null;
  return new RouteResponse(range ? 206 : 200, body, headers);
}

/** HEAD has no ranges (RFC 9110, section 14.2). @throws AppError range_not_satisfiable */
function requestedRange({ method, headers }: RequestHead, validators: Validators, sizeBytes: number): ByteRange | null {
  const [header, ifRange] = [headers.get("range"), headers.get("if-range")];
  if (method === "HEAD" || header === null) return null;
  if (ifRange !== null && !matchesIfRange(ifRange, validators)) return null;
  const range = parseRange(header, sizeBytes);
  if (range !== "unsatisfiable") return range;
  throw new AppError("range_not_satisfiable", { headers: { "Content-Range": `bytes */${sizeBytes}` } });
}
