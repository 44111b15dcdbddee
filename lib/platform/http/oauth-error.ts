import { type AppError, ERRORS, type ErrorCode } from "../../errors";
import type { RequestScope } from "../../operation";
import { jsonResponse, type ResponseHeaders, type RouteResponse } from "../http-message";
import { problemType } from "./problem";

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
