import { randomUUID } from "node:crypto";
import { AppError } from "../../../errors";
import { attachment } from "../../content-disposition";
import { type RequestHead, type ResponseHeaders, RouteResponse } from "../../http-message";
import type { BodyPart, ByteRange, Caching, DocumentContent, DownloadContent } from "../../response-content";
import { LOADABLE_ANYWHERE } from "../security-headers";
import { assertPreconditions, isNotModified, matchesIfRange, type Validators } from "./conditional";

/** electron-updater sends up to 500 in one request. Each costs a part of the response. */
const MAX_RANGES = 512;

/**
 * Parses a Range header (RFC 9110, section 14.1.2) to the ranges to send, in the order of the request. Ranges outside
 * the `sizeBytes` are left out; those that overlap or adjoin are merged. Returns null if the header is to be ignored:
 * a malformed range, or another unit. Returns "unsatisfiable" if no range lies in the file, and for more than 512
 * ranges (section 15.5.17, "an excessive request of small or overlapping ranges").
 */
function parseRanges(header: string, sizeBytes: number): ByteRange[] | "unsatisfiable" | null {
  const [, rangeSet] = /^\s*bytes\s*=(.*)$/i.exec(header) ?? [];
  const specs = (rangeSet ?? "").split(",").flatMap((spec) => spec.trim() || []);
  if (specs.length === 0) return null;
  if (specs.length > MAX_RANGES) return "unsatisfiable";
  const ranges: ByteRange[] = [];
  for (const spec of specs) {
    const range = parseRange(spec, sizeBytes);
    if (range === null) return null;
    if (range !== "unsatisfiable") ranges.push(range);
  }
  return ranges.length === 0 ? "unsatisfiable" : mergeRanges(ranges);
}

function parseRange(spec: string, sizeBytes: number): ByteRange | "unsatisfiable" | null {
  const [, from, to] = /^(\d*)-(\d*)$/.exec(spec) ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return null;
  // Number() turns positions of any length into at most Infinity, which lies outside every file.
  const last = sizeBytes - 1;
  if (from === "") return Number(to) === 0 ? "unsatisfiable" : { first: Math.max(0, sizeBytes - Number(to)), last };
  if (to !== "" && Number(to) < Number(from)) return null;
  if (Number(from) >= sizeBytes) return "unsatisfiable";
  return { first: Number(from), last: to === "" ? last : Math.min(Number(to), last) };
}

/** A merged range has the place of the first of its ranges (RFC 9110, section 15.3.7.2). */
function mergeRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const ascending = ranges.map((range, place) => ({ ...range, place })).sort((a, b) => a.first - b.first);
  const merged: typeof ascending = [];
  for (const range of ascending) {
    const previous = merged.at(-1);
    if (!previous || range.first > previous.last + 1) {
      merged.push(range);
      continue;
    }
    previous.last = Math.max(previous.last, range.last);
    previous.place = Math.min(previous.place, range.place);
  }
  return merged.sort((a, b) => a.place - b.place).map(({ first, last }) => ({ first, last }));
}

/** The `Cache-Control` of a download (RFC 9111, section 5.2.2). */
const DOWNLOAD_CACHE_CONTROL: Readonly<Record<Caching, string>> = {
  immutable: "public, max-age=31536000, immutable",
  shared: "public, max-age=60",
  "per-client": "private, no-cache",
  never: "no-store",
};

/**
 * The `Cache-Control` of a document. Caches may send an old one while they fetch the new one (RFC 5861, section 3): its
 * client only learns of an update one check later. An old download would be installed.
 */
const DOCUMENT_CACHE_CONTROL: Readonly<Record<Caching, string>> = {
  ...DOWNLOAD_CACHE_CONTROL,
  shared: `${DOWNLOAD_CACHE_CONTROL.shared}, stale-while-revalidate=300`,
};

/** Responds with a document: 200, 304 if the client has it already, 204 if there is none. Returns no promise. */
export function documentResponse(document: DocumentContent, { headers: requested }: RequestHead): RouteResponse {
  const { text, contentType, etag, sizeBytes, caching } = document;
  const cacheControl = DOCUMENT_CACHE_CONTROL[caching];
  if (text === null) return new RouteResponse(204, null, { "Cache-Control": cacheControl });
  if (isNotModified(requested, { etag, modifiedAt: null })) {
    return new RouteResponse(304, null, { ETag: etag, "Cache-Control": cacheControl });
  }
  return new RouteResponse(200, text, {
    "Content-Type": contentType,
    "Content-Length": String(sizeBytes),
    ETag: etag,
    "Cache-Control": cacheControl,
  });
}

type FileContent = Exclude<DownloadContent, { kind: "redirect" }>;
type ComposedBody = { contentType: string; sizeBytes: number; parts: readonly BodyPart[] };
/** With `contentRange` for a single range: each part of a multipart body has its own. */
type SelectedBody = ComposedBody & { status: number; contentRange?: string };

/**
 * Responds with a file, parts of it, or a redirect: conditional requests and ranges (RFC 9110, sections 13 and 14), the
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
  return new RouteResponse(302, null, {
    Location: url,
    "Cache-Control": DOWNLOAD_CACHE_CONTROL[caching],
    ...LOADABLE_ANYWHERE,
  });
}

function fileResponse(content: FileContent, request: RequestHead): RouteResponse {
  const { sha256, sha512, caching } = content;
  const modifiedAt = content.kind === "file" ? content.modifiedAt : null;
  const validators = { etag: `"sha256-${sha256}"`, modifiedAt };
  const headers: ResponseHeaders = { ETag: validators.etag, ...LOADABLE_ANYWHERE };
  if (modifiedAt) headers["Last-Modified"] = modifiedAt.toUTCString();
  headers["Accept-Ranges"] = "bytes";
  headers["Cache-Control"] = DOWNLOAD_CACHE_CONTROL[caching];
  assertPreconditions(request.headers, validators);
  if (isNotModified(request.headers, validators)) return new RouteResponse(304, null, headers);
  const { status, contentType, sizeBytes, contentRange, parts } = selectBody(content, request, validators);
  headers["Content-Type"] = contentType;
  headers["Content-Length"] = String(sizeBytes);
  headers["Content-Disposition"] = attachment(content.fileName);
  headers["Repr-Digest"] =
    sha512 === null ? `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:` : `sha-512=:${sha512}:`;
  if (contentRange) headers["Content-Range"] = contentRange;
  return new RouteResponse(status, content.kind === "file" ? content.read(parts) : null, headers);
}

/**
 * The whole file, a range of it, or several as multipart/byteranges. Parts that would add up to more than the file are
 * not worth it: the response is the whole file, so that no request for ranges costs more than one without
 * (RFC 9110, section 17.15). @throws AppError range_not_satisfiable
 */
function selectBody(content: FileContent, request: RequestHead, validators: Validators): SelectedBody {
  const { contentType, sizeBytes } = content;
  const whole = { status: 200, contentType, sizeBytes, parts: [{ first: 0, last: sizeBytes - 1 }] };
  const ranges = requestedRanges(request, validators, sizeBytes);
  const [range] = ranges ?? [];
  if (!ranges || !range) return whole;
  if (ranges.length > 1) {
    const multipart = multipartRanges(ranges, content);
    return multipart.sizeBytes < sizeBytes ? { status: 206, ...multipart } : whole;
  }
  const { first, last } = range;
  const contentRange = `bytes ${first}-${last}/${sizeBytes}`;
  return { status: 206, contentType, sizeBytes: last - first + 1, contentRange, parts: [range] };
}

/** HEAD has no ranges (RFC 9110, section 14.2). @throws AppError range_not_satisfiable */
function requestedRanges({ method, headers }: RequestHead, validators: Validators, sizeBytes: number) {
  const [header, ifRange] = [headers.get("range"), headers.get("if-range")];
  if (method === "HEAD" || header === null) return null;
  if (ifRange !== null && !matchesIfRange(ifRange, validators)) return null;
  const ranges = parseRanges(header, sizeBytes);
  if (ranges !== "unsatisfiable") return ranges;
  throw new AppError("range_not_satisfiable", { headers: { "Content-Range": `bytes */${sizeBytes}` } });
}

/** Several ranges of a file as multipart/byteranges (RFC 9110, sections 14.6 and 15.3.7.2). */
function multipartRanges(ranges: readonly ByteRange[], file: { contentType: string; sizeBytes: number }): ComposedBody {
  const boundary = randomUUID(); // the author of a file cannot know it
  const headerOf = ({ first, last }: ByteRange, i: number) =>
    [
      `${i === 0 ? "" : "\r\n"}--${boundary}`,
      `Content-Type: ${file.contentType}`,
      `Content-Range: bytes ${first}-${last}/${file.sizeBytes}`,
      "\r\n",
    ].join("\r\n");
  const parts: BodyPart[] = ranges.flatMap((range, i) => [Buffer.from(headerOf(range, i)), range]);
  parts.push(Buffer.from(`\r\n--${boundary}--\r\n`));
  const sizeBytes = parts.reduce((sum, part) => sum + lengthOf(part), 0);
  return { contentType: `multipart/byteranges; boundary=${boundary}`, sizeBytes, parts };
}

function lengthOf(part: BodyPart): number {
  return part instanceof Uint8Array ? part.byteLength : part.last - part.first + 1;
}

/** Responds with a document or a download. @throws AppError precondition_failed, range_not_satisfiable */
export async function contentResponse(content: DocumentContent | DownloadContent, request: RequestHead) {
  return "text" in content ? documentResponse(content, request) : downloadResponse(content, request);
}
