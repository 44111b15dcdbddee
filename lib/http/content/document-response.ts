import type { Caching, DocumentContent } from "../../response-content";
import type { RequestHead } from "../route-request";
import { RouteResponse } from "../route-response";
import { isNotModified } from "./conditional";

const CACHE_CONTROL: Record<Caching, string> = {
  immutable: "public, max-age=31536000, immutable",
  shared: "public, max-age=60, stale-while-revalidate=300",
  "per-client": "private, no-cache",
  never: "no-store",
};

/** Responds with a document: 200, 304 if the client has it already, 204 if there is none. Returns no promise. */
export function documentResponse(document: DocumentContent, { headers: requested }: RequestHead): RouteResponse {
  const { text, contentType, etag, sizeBytes, caching } = document;
  const cacheControl = CACHE_CONTROL[caching];
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
