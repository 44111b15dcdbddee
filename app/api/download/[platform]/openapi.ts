import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "download",
  description:
    "The newest release, or the one that `version` pins: its address is good for ever and may be kept as long. Broken-off downloads go on with `Range` and `If-Range`. Files that lie elsewhere are redirected to.",
  reads: ["Range", "IfRange", "IfMatch", "IfUnmodifiedSince", "IfNoneMatch", "IfModifiedSince", "StagingId"],
  responses: {
    200: {
      description: "The whole file.",
      headers: ["ETag", "Last-Modified", "Accept-Ranges", "Content-Disposition", "Repr-Digest"],
      content: { "*/*": {} },
    },
    206: {
      description: "The bytes that were asked for.",
      headers: ["ETag", "Last-Modified", "Accept-Ranges", "Content-Disposition", "Content-Range", "Repr-Digest"],
      content: { "*/*": {} },
    },
    302: { description: "The file lies at `Location`.", headers: ["Location"] },
    304: {
      description: "The caller's copy is good still.",
      headers: ["ETag", "Last-Modified", "Accept-Ranges"],
    },
  },
};
