import { AppError, ERRORS, type ErrorCode, isAppError } from "../../errors";
import { isDatabaseUnavailable, isReferencedRowMissing, isStorageFull } from "../errors/database-errors";
import { RouteResponse } from "../http-message";

/** The default `Retry-After` in seconds, for errors after which a retry can succeed. */
const RETRY_AFTER_SECONDS = {
  unavailable: 5,
  storage_full: 30,
  overloaded: 2,
  catalog_unavailable: 30,
  artifact_unavailable: 60,
  internal_error: undefined,
} as const;

/**
 * The error that the client gets: an AppError itself, 503 for an unavailable database, 401 if the account was deleted
 * during the request, and otherwise 500 without details.
 */
export function toAppError(error: unknown): AppError {
  if (isAppError(error)) return error;
  if (isReferencedRowMissing(error)) return new AppError("unauthenticated", { cause: error });
  if (isStorageFull(error)) return new AppError("storage_full", { cause: error });
  return new AppError(isDatabaseUnavailable(error) ? "unavailable" : "internal_error", { cause: error });
}

/** The URL of the page that explains an error code. */
export function problemType(code: ErrorCode, baseUrl: string): string {
  return `${baseUrl}/docs/errors#${code}`;
}

/** An RFC 9457 problem document. `type` points to the page that explains the code. */
export function problemResponse(error: AppError, requestId: string, baseUrl: string): RouteResponse {
  const [status, title] = ERRORS[error.code];
  const { detail, errors, fields, headers, retryAfterSeconds } = error.extras;
  const retryAfter = retryAfterSeconds ?? RETRY_AFTER_SECONDS[error.code as keyof typeof RETRY_AFTER_SECONDS];
  const body = JSON.stringify({
    type: problemType(error.code, baseUrl),
    title,
    status,
    code: error.code,
    ...(detail === undefined ? {} : { detail }),
    requestId,
    ...(errors === undefined ? {} : { errors }),
    ...fields,
  });
  return new RouteResponse(status, body, {
    "Content-Type": "application/problem+json",
    "Content-Length": String(Buffer.byteLength(body)),
    ...(retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) }),
    ...(status === 401 ? { "WWW-Authenticate": 'Bearer realm="homeport"' } : {}),
    ...headers,
  });
}
