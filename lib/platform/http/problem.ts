import { AppError, ERRORS, type ErrorCode, isAppError } from "../../errors";
import type { RequestScope } from "../../operation";
import { isDatabaseUnavailable, isReferencedRowMissing, isStorageFull } from "../database-errors";
import { isNoSpace } from "../files/no-space";
import { jsonResponse, type ResponseHeaders, RouteResponse } from "../http-message";

/** The default `Retry-After` in seconds, for errors after which a retry can succeed. */
const RETRY_AFTER_SECONDS = {
  unavailable: 5,
  storage_full: 30,
  overloaded: 2,
  catalog_unavailable: 30,
  artifact_unavailable: 60,
  mirror_unavailable: 60,
  internal_error: undefined,
} as const;

/**
 * The error that the client gets: an AppError itself, 503 for an unavailable database, 507 for a full disk, 401 if the
 * account was deleted during the request, and otherwise 500 without details.
 */
export function toAppError(error: unknown): AppError {
  if (isAppError(error)) return error;
  if (isReferencedRowMissing(error)) return new AppError("unauthenticated", { cause: error });
  if (isNoSpace(error)) return new AppError("disk_full", { cause: error });
  if (isStorageFull(error)) return new AppError("storage_full", { cause: error });
  return new AppError(isDatabaseUnavailable(error) ? "unavailable" : "internal_error", { cause: error });
}

function problemType(code: ErrorCode, baseUrl: string): string {
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

/**
 * The `error` values of RFC 6749, section 5.2, and RFC 8628, section 3.5. A code that OAuth defines keeps its name, as
 * do the extensions for users who may not sign in. `temporarily_unavailable` is from RFC 6749, section 4.1.2.1.
 */
const OAUTH_ERRORS: Partial<Record<ErrorCode, string>> = {
  invalid_client: "invalid_client",
  unauthorized_client: "unauthorized_client",
  invalid_grant: "invalid_grant",
  unsupported_grant_type: "unsupported_grant_type",
  authorization_pending: "authorization_pending",
  slow_down: "slow_down",
  access_denied: "access_denied",
  expired_token: "expired_token",
  validation_failed: "invalid_request",
  invalid_id_token: "invalid_request", // RFC 8693, section 2.2.2
  account_disabled: "account_disabled",
  email_not_verified: "email_not_verified",
  identity_unverified: "identity_unverified",
  identity_without_email: "identity_without_email",
  second_factor_required: "second_factor_required",
  provider_unavailable: "temporarily_unavailable",
};

/** Writes the errors that OAuth defines as OAuth does. Others are problem documents. */
export function writeOAuthError(error: AppError, { ctx }: RequestScope): RouteResponse | AppError {
  const code = OAUTH_ERRORS[error.code];
  if (code === undefined) return error;
  const { errors: [invalid] = [], fields, retryAfterSeconds } = error.extras;
  const description = invalid ? `${invalid.pointer.slice(1)}: ${invalid.detail}` : error.message;
  const body = {
    error: code,
    error_description: toDescription(description),
    error_uri: problemType(error.code, ctx.config.baseUrl),
    ...fields,
  };
  const headers: ResponseHeaders = retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) };
  return jsonResponse(ERRORS[error.code][0] === 503 ? 503 : 400, body, headers);
}

/** RFC 6749, section 5.2: printable ASCII without quotation marks and backslashes. */
function toDescription(text: string): string {
  return text.replace(/[^ !#-[\]-~]/g, "");
}
