import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "download",
  description:
    "Returns the newest release, or the one that `version` selects, whose URL is permanent and can be cached. Resume interrupted downloads with `Range` and `If-Range`. A request may have up to 512 ranges. Files that are stored elsewhere are redirected to.",
  reads: ["Range", "IfRange", "IfMatch", "IfUnmodifiedSince", "IfNoneMatch", "IfModifiedSince", "StagingId"],
  responses: {
    200: {
      description: "The complete file.",
      headers: ["ETag", "Last-Modified", "Accept-Ranges", "Content-Disposition", "Repr-Digest"],
      content: { "*/*": {} },
    },
    206: {
      description: "The requested range, or several as `multipart/byteranges`.",
      headers: ["ETag", "Last-Modified", "Accept-Ranges", "Content-Disposition", "Content-Range", "Repr-Digest"],
      content: { "*/*": {} },
    },
    302: { description: "The file is at the URL in `Location`.", headers: ["Location"] },
    304: {
      description: "The cached copy is current.",
      headers: ["ETag", "Last-Modified", "Accept-Ranges"],
    },
  },
};
