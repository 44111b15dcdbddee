import { AppError, ERRORS, isAppError, isDatabaseUnavailable, isRowGone, isStorageFull } from "../errors";
import type { RouteResponse } from "./route-response";

/** Seconds after which it is worth asking again, where waiting helps and nothing better is known. */
const RETRY_AFTER_SECONDS = {
  unavailable: 5,
  storage_full: 30,
  overloaded: 2,
  catalog_unavailable: 30,
  artifact_unavailable: 60,
  internal_error: undefined,
} as const;

/**
 * What a caller may see of any error: an AppError as it is, a lost database as 503, an account that was deleted
 * under the request as a session that ended, all else a blank 500.
 */
export function toAppError(error: unknown): AppError {
  if (isAppError(error)) return error;
  if (isRowGone(error)) return new AppError("unauthenticated", { cause: error });
  if (isStorageFull(error)) return new AppError("storage_full", { cause: error });
  return new AppError(isDatabaseUnavailable(error) ? "unavailable" : "internal_error", { cause: error });
}

/** An RFC 9457 problem document. `type` points to the page that explains the code. */
export function problemResponse(error: AppError, requestId: string, baseUrl: string): RouteResponse {
  const [status, title] = ERRORS[error.code];
  const { detail, errors, members, headers, retryAfterSeconds } = error.extras;
  const retryAfter = retryAfterSeconds ?? RETRY_AFTER_SECONDS[error.code as keyof typeof RETRY_AFTER_SECONDS];
  const body = JSON.stringify({
    type: `${baseUrl}/docs/errors#${error.code}`,
    title,
    status,
    code: error.code,
    ...(detail === undefined ? {} : { detail }),
    requestId,
    ...(errors === undefined ? {} : { errors }),
    ...members,
  });
  return {
    status,
    headers: {
      "Content-Type": "application/problem+json",
      "Content-Length": String(Buffer.byteLength(body)),
      ...(retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) }),
      ...(status === 401 ? { "WWW-Authenticate": 'Bearer realm="homeport"' } : {}),
      ...headers,
    },
    body,
  };
}
