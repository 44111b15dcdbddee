import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "readUpload",
  description:
    "`Upload-Offset` is the number of bytes that have arrived: the size of the file on disk, even after a crash. tus clients use HEAD.",
  reads: ["TusResumable"],
  responses: {
    200: {
      description: "The upload.",
      headers: ["Upload-Offset", "Upload-Length", "Upload-Expires"],
      examples: {
        "An upload": {
          id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
          fileName: "Acme-2.3.0-x64.exe",
          sizeBytes: 104857600,
          offsetBytes: 52428800,
          expiresAt: "2026-11-21T09:00:00.000Z",
        },
      },
    },
  },
};

export const PATCH: OperationDetails = {
  operationId: "appendToUpload",
  description:
    "Appends the body at `Upload-Offset`, which must be the number of bytes that have arrived. Bytes that arrive are kept if the connection breaks, the disk is full, or the service stops: request the offset, and continue. One request at a time may write.",
  reads: ["TusResumable", "UploadOffset"],
  requestBody: {
    required: true,
    content: { "application/offset+octet-stream": { schema: { type: "string", format: "binary" } } },
  },
  responses: {
    204: {
      description: "The bytes are stored.",
      headers: ["Upload-Offset", "Upload-Length", "Upload-Expires"],
    },
  },
};

export const DELETE: OperationDetails = {
  operationId: "removeUpload",
  description: "Deletes the upload and its bytes.",
  reads: ["TusResumable"],
  responses: { 204: { description: "The upload was deleted." } },
};
