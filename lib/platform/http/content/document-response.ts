import { type RequestHead, RouteResponse } from "../../http-message";
import type { DocumentContent } from "../../response-content";
import { DOCUMENT_CACHE_CONTROL } from "./cache-control";
import { isNotModified } from "./conditional";

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
