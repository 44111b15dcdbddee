import type { OperationDetails } from "@/scripts/openapi/operation";

const UPLOAD = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  fileName: "Acme-2.3.0-x64.exe",
  sizeBytes: 104857600,
  offsetBytes: 0,
  expiresAt: "2026-11-21T09:00:00.000Z",
};

export const OPTIONS: OperationDetails = {
  operationId: "describeUploads",
  description:
    "The protocol is tus 1.0 (tus.io) with the extensions creation, expiration and termination, so that any of its clients can upload. `Tus-Max-Size` is `RELEASE_UPLOAD_MAX_BYTES`.",
  responses: { 204: { description: "The headers describe what is supported.", headers: ["Allow"] } },
};

export const POST: OperationDetails = {
  operationId: "createUpload",
  description:
    "Creates an upload for a file of `Upload-Length` bytes. Send the bytes by PATCH to `Location`, in one part or several. An upload belongs to the key, or the account, that created it. It is deleted a day after its last byte has arrived, unless it was published.",
  reads: ["TusResumable", "UploadLength", "UploadMetadata"],
  responses: {
    201: {
      description: "The upload was created.",
      headers: ["Location", "Upload-Offset", "Upload-Length", "Upload-Expires"],
      examples: { "An upload": UPLOAD },
    },
  },
};
