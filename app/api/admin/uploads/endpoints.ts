import { ownerOf } from "@/lib/admin/operator";
import { Upload, UploadParams } from "@/lib/admin/releases/schemas/releases";
import {
  parseCreation,
  parsePatch,
  requireTus,
  tusCapabilities,
  tusError,
  tusVersion,
  uploadResponse,
} from "@/lib/http/content/tus";
import { endpoint } from "@/lib/http/endpoint";
import { RouteResponse } from "@/lib/http/route-response";
import { appendToUpload, createUpload, findUpload, removeUpload } from "@/lib/releases/uploads/uploads";

const OF_ALL = { auth: { role: "admin", scope: "releases:write" }, writeError: tusError } as const;
const ERRORS = ["malformed_request", "tus_version_unsupported", "catalog_not_editable"] as const;
const ERRORS_OF_ONE = [...ERRORS, "upload_not_found"] as const;

export const describeUploads = endpoint({
  summary: "Describe the uploads",
  database: false,
  writes: "raw",
  responses: { 204: null },
  handle: ({ ctx }) => {
    const headers = tusCapabilities(ctx.config.RELEASE_UPLOAD_MAX_BYTES);
    return new RouteResponse(204, null, { Allow: "POST, OPTIONS", ...headers });
  },
});

export const createOne = endpoint({
  ...OF_ALL,
  summary: "Create an upload",
  errors: [...ERRORS, "payload_too_large", "disk_full", "upload_limit_reached"],
  responses: { 201: Upload },
  handle: async ({ ctx, principal, request }) => {
    const upload = await createUpload(ctx, { owner: ownerOf(principal), ...parseCreation(request) });
    return uploadResponse(201, upload, `${ctx.config.baseUrl}/api/admin/uploads/${upload.id}`);
  },
});

export const getOne = endpoint({
  ...OF_ALL,
  summary: "Read how much of an upload has arrived",
  params: UploadParams,
  errors: ERRORS_OF_ONE,
  responses: { 200: Upload },
  handle: async ({ ctx, principal, params, request }) => {
    requireTus(request);
    return uploadResponse(200, await findUpload(ctx, ownerOf(principal), params.uploadId));
  },
});

export const appendToOne = endpoint({
  ...OF_ALL,
  summary: "Append bytes to an upload",
  params: UploadParams,
  reads: "stream",
  errors: [
    ...ERRORS_OF_ONE,
    ...(["request_timeout", "upload_offset_mismatch", "upload_locked", "unsupported_media_type", "disk_full"] as const),
  ],
  responses: { 204: null },
  handle: async ({ ctx, principal, params, request, stream }) => {
    const input = { ...parsePatch(request), bytes: stream };
    return uploadResponse(204, await appendToUpload(ctx, ownerOf(principal), params.uploadId, input));
  },
});

export const deleteOne = endpoint({
  ...OF_ALL,
  summary: "Delete an upload",
  params: UploadParams,
  errors: [...ERRORS_OF_ONE, "upload_locked"],
  responses: { 204: null },
  handle: async ({ ctx, principal, params, request }) => {
    requireTus(request);
    await removeUpload(ctx, ownerOf(principal), params.uploadId);
    return new RouteResponse(204, null, tusVersion());
  },
});
