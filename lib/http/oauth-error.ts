import type { AppError, ErrorCode } from "../errors";
import type { RequestScope } from "./endpoint";
import { problemType } from "./problem";
import { jsonResponse, type RouteResponse } from "./route-response";

/** The `error` values of RFC 6749, section 5.2, and RFC 8628, section 3.5. Each code that is one names itself. */
const OAUTH_ERRORS: Partial<Record<ErrorCode, string>> = {
  invalid_client: "invalid_client",
  invalid_grant: "invalid_grant",
  unsupported_grant_type: "unsupported_grant_type",
  authorization_pending: "authorization_pending",
  slow_down: "slow_down",
  access_denied: "access_denied",
  expired_token: "expired_token",
  validation_failed: "invalid_request",
};

/** Writes the errors that OAuth defines as OAuth does. Others are problem documents. */
export function writeOAuthError(error: AppError, { ctx }: RequestScope): RouteResponse | AppError {
  const code = OAUTH_ERRORS[error.code];
  if (code === undefined) return error;
  const [invalid] = error.extras.errors ?? [];
  const description = invalid ? `${invalid.pointer.slice(1)}: ${invalid.detail}` : error.message;
  return jsonResponse(400, {
    error: code,
    error_description: toDescription(description),
    error_uri: problemType(error.code, ctx.config.baseUrl),
  });
}

/** RFC 6749, section 5.2: printable ASCII without quotation marks and backslashes. */
function toDescription(text: string): string {
  return text.replace(/[^ !#-[\]-~]/g, "");
}
