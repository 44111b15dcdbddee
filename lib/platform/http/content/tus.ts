import { AppError } from "../../../errors";
import { type RequestHead, type ResponseHeaders, RouteResponse } from "../../http-message";

/** The version of the protocol for resumable uploads (tus.io, "tus resumable upload protocol" 1.0). */
const VERSION = "1.0.0";
const EXTENSIONS = "creation,expiration,termination";
const MAX_METADATA_LENGTH = 4_096;
/** Pairs of a key and a value in Base64, which may be missing, separated by commas. */
const METADATA = /^[!-+\--~]+(?: [A-Za-z0-9+/]*={0,2})?(?:, ?[!-+\--~]+(?: [A-Za-z0-9+/]*={0,2})?)*$/;

type UploadState = { sizeBytes: number; offsetBytes: number; metadata: string | null; expiresAt: Date };

export function tusCapabilities(maxBytes: number): ResponseHeaders {
  return { ...tusVersion(), "Tus-Version": VERSION, "Tus-Extension": EXTENSIONS, "Tus-Max-Size": String(maxBytes) };
}

/** The header of every response. */
export function tusVersion(): Record<string, string> {
  return { "Tus-Resumable": VERSION };
}

function uploadHeaders({ sizeBytes, offsetBytes, metadata, expiresAt }: UploadState): Record<string, string> {
  return {
    ...tusVersion(),
    "Upload-Length": String(sizeBytes),
    "Upload-Offset": String(offsetBytes),
    "Upload-Expires": expiresAt.toUTCString(),
    ...(metadata === null ? {} : { "Upload-Metadata": metadata }),
  };
}

export function tusError({ code, extras }: AppError): AppError {
  const headers: Record<string, string> = { ...extras.headers, ...tusVersion() };
  if (code === "tus_version_unsupported") headers["Tus-Version"] = VERSION;
  return new AppError(code, { ...extras, headers });
}

/** @throws AppError tus_version_unsupported */
export function requireTus({ headers }: RequestHead): void {
  if (headers.get("tus-resumable") !== VERSION) throw new AppError("tus_version_unsupported");
}

/**
 * Parses the headers of a request that creates an upload. @throws AppError tus_version_unsupported, malformed_request
 */
export function parseCreation(request: RequestHead) {
  requireTus(request);
  if (request.headers.has("upload-defer-length")) throw malformed("Upload-Defer-Length is not supported.");
  const metadata = request.headers.get("upload-metadata")?.trim() || null;
  if (metadata !== null && (metadata.length > MAX_METADATA_LENGTH || !METADATA.test(metadata))) {
    throw malformed("Upload-Metadata is not valid.");
  }
  const sizeBytes = readBytes(request, "upload-length");
  if (sizeBytes === 0) throw malformed("Upload-Length must be at least 1.");
  return { sizeBytes, metadata, fileName: metadata && metadataValue(metadata, "filename") };
}

/**
 * Parses the headers of a request that sends a part of an upload. @throws AppError tus_version_unsupported,
 * malformed_request
 */
export function parsePatch(request: RequestHead): { offsetBytes: number; lengthBytes: number | null } {
  requireTus(request);
  const lengthBytes = request.headers.has("content-length") ? readBytes(request, "content-length") : null;
  return { offsetBytes: readBytes(request, "upload-offset"), lengthBytes };
}

function readBytes({ headers }: RequestHead, name: string): number {
  const text = headers.get(name) ?? "";
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw malformed(`${name} must be a number of bytes.`);
}

/** The value of a key of `Upload-Metadata`; null without one. By convention `filename` is the file's name. */
export function metadataValue(metadata: string, key: string): string | null {
  const pair = metadata.split(",").find((one) => one.trim().split(" ")[0] === key);
  const value = pair?.trim().split(" ")[1];
  return value ? Buffer.from(value, "base64").toString().slice(0, 255).toWellFormed() : null;
}

function malformed(detail: string): AppError {
  return new AppError("malformed_request", detail);
}

/** The response to a change of an upload. With a body only where the upload is new, and `location` names it. */
export function uploadResponse(status: number, upload: UploadState, location?: string): RouteResponse<unknown> {
  const headers = { ...uploadHeaders(upload), ...(location ? { Location: location } : {}) };
  return new RouteResponse<unknown>(status, status === 204 ? null : upload, headers);
}
