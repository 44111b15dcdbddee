import { z } from "zod";
import { formOperation, operation } from "../../operation";
import { ownerOf } from "../../platform/audit/operator-events";
import {
  parseCreation,
  parsePatch,
  requireTus,
  tusCapabilities,
  tusError,
  tusVersion,
  uploadResponse,
} from "../../platform/http/content/tus";
import { RouteResponse } from "../../platform/http-message";
import { appendToUpload, createUpload, findUpload, removeUpload } from "./uploads";

const UploadParams = z.object({ uploadId: z.string() });

const Upload = z.object({
  id: z.uuid(),
  fileName: z.string().nullable().describe("`filename` of `Upload-Metadata`."),
  sizeBytes: z.int(),
  offsetBytes: z.int().describe("How much has arrived."),
  expiresAt: z.date().describe("When it is deleted, unless more arrives."),
});

const UPLOAD = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  fileName: "Acme-2.3.0-x64.exe",
  sizeBytes: 104857600,
  offsetBytes: 0,
  expiresAt: "2026-11-21T09:00:00.000Z",
};

const WRITES = { role: "admin", scope: "releases:write", writeError: tusError } as const;
const STATE_HEADERS = ["Upload-Offset", "Upload-Length", "Upload-Expires"];

const ERRORS = ["malformed_request", "tus_version_unsupported", "catalog_not_editable"] as const;

const ERRORS_OF_ONE = [...ERRORS, "upload_not_found"] as const;

export const uploadOperations = {
  describeUploads: operation({
    id: "describeUploads",
    summary: "Describe the uploads",
    description:
      "The protocol is tus 1.0 (tus.io) with the extensions creation, expiration and termination, so that any of its clients can upload. `Tus-Max-Size` is `RELEASE_UPLOAD_MAX_BYTES`.",
    database: false,
    writes: "raw",
    response: { description: "The headers describe what is supported.", schema: null, headers: ["Allow"] },
    run: ({ ctx }) => {
      const headers = tusCapabilities(ctx.config.RELEASE_UPLOAD_MAX_BYTES);
      return new RouteResponse(204, null, { Allow: "POST, OPTIONS", ...headers });
    },
  }),

  createUpload: operation({
    id: "createUpload",
    summary: "Create an upload",
    description:
      "Creates an upload for a file of `Upload-Length` bytes. Send the bytes by PATCH to `Location`, in one part or several. An upload belongs to the key, or the account, that created it. It is deleted a day after its last byte has arrived, unless it was published. A key of some products has at most 100 uploads, and once less than a quarter of the space for releases is left, only its products' share of it.",
    headers: ["TusResumable", "UploadLength", "UploadMetadata"],
    ...WRITES,
    errors: [...ERRORS, "catalog_invalid", "payload_too_large", "disk_full", "upload_limit_reached"],
    response: {
      status: 201,
      description: "The upload was created.",
      schema: Upload,
      headers: ["Location", ...STATE_HEADERS],
      examples: { "An upload": UPLOAD },
    },
    run: async ({ ctx, principal, operator, request }) => {
      const upload = await createUpload(ctx, operator, { owner: ownerOf(principal), ...parseCreation(request) });
      return uploadResponse(201, upload, `${ctx.config.baseUrl}/api/admin/uploads/${upload.id}`);
    },
  }),

  readUpload: operation({
    id: "readUpload",
    summary: "Read how much of an upload has arrived",
    description:
      "`Upload-Offset` is the number of bytes that have arrived: the size of the file on disk, even after a crash. tus clients use HEAD.",
    headers: ["TusResumable"],
    ...WRITES,
    params: UploadParams,
    errors: ERRORS_OF_ONE,
    response: {
      description: "The upload.",
      schema: Upload,
      headers: STATE_HEADERS,
      examples: { "An upload": { ...UPLOAD, offsetBytes: 52428800 } },
    },
    run: async ({ ctx, principal, params, request }) => {
      requireTus(request);
      return uploadResponse(200, await findUpload(ctx, ownerOf(principal), params.uploadId));
    },
  }),

  appendToUpload: operation({
    id: "appendToUpload",
    summary: "Append bytes to an upload",
    description:
      "Appends the body at `Upload-Offset`, which must be the number of bytes that have arrived. Bytes that arrive are kept if the connection breaks, the disk is full, or the service stops: request the offset, and continue. One request at a time may write.",
    headers: ["TusResumable", "UploadOffset"],
    ...WRITES,
    params: UploadParams,
    bodyFormat: "stream",
    errors: [
      ...ERRORS_OF_ONE,
      "request_timeout",
      "upload_offset_mismatch",
      "upload_locked",
      "unsupported_media_type",
      "disk_full",
    ],
    requestBody: {
      required: true,
      content: { "application/offset+octet-stream": { schema: { type: "string", format: "binary" } } },
    },
    response: { description: "The bytes are stored.", schema: null, headers: STATE_HEADERS },
    run: async ({ ctx, principal, params, request, stream }) => {
      const input = { ...parsePatch(request), bytes: stream };
      return uploadResponse(204, await appendToUpload(ctx, ownerOf(principal), params.uploadId, input));
    },
  }),

  removeUpload: operation({
    id: "removeUpload",
    summary: "Delete an upload",
    description: "Deletes the upload and its bytes.",
    headers: ["TusResumable"],
    ...WRITES,
    params: UploadParams,
    errors: [...ERRORS_OF_ONE, "upload_locked"],
    response: { description: "The upload was deleted.", schema: null },
    run: async ({ ctx, principal, params, request }) => {
      requireTus(request);
      await removeUpload(ctx, ownerOf(principal), params.uploadId);
      return new RouteResponse(204, null, tusVersion());
    },
  }),

  deleteUpload: formOperation({
    id: "deleteUpload",
    summary: "Delete an upload",
    role: "admin",
    params: UploadParams,
    run: ({ ctx, principal, params }) => removeUpload(ctx, ownerOf(principal), params.uploadId),
    form: { after: () => ({ done: "removed" }) },
  }),
};
